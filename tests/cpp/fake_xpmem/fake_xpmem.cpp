// SPDX-License-Identifier: BSD-3-Clause
// Written from the interface of libxpmem (https://github.com/hpc/xpmem) alone.
#include "fake_xpmem/fake_xpmem.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <mutex>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED FakeXpmem fake_xpmem;

namespace {

struct Address {
    std::int64_t permit;
    off_t offset;
};
struct Attached {
    std::size_t bytes;
    bool copied; // else the memory itself
};

constexpr int kProcessShift = 32;
std::mutex mutex;
std::int64_t numbers = 0;
std::map<std::int64_t, pid_t> permits; // by number: the process
std::multimap<void *, Attached> attached;

const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

int wrong(int error, bool by_caller = true) {
    fake_xpmem.errors += by_caller;
    errno = error;
    return -1;
}

bool refused(Refused call) {
    if (fake_xpmem_refuses() != call)
        return false;
    errno = EPERM;
    return true;
}

// Copies what there is of the memory; pages that are not there are left out.
void *copy_of(pid_t process, std::uintptr_t from, std::size_t bytes) {
    void *const copy =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return copy;
    for (std::size_t done = 0; done < bytes;) {
        const iovec here{static_cast<char *>(copy) + done, bytes - done};
        const iovec there{reinterpret_cast<void *>(from + done), bytes - done};
        // Not by the C library's function, in place of which a test may have its own.
        const long read = syscall(SYS_process_vm_readv, process, &here, 1, &there, 1, 0);
        done += read > 0 ? static_cast<std::size_t>(read) : page_bytes;
    }
    return copy;
}

void *nothing(std::size_t bytes) {
    const int empty = memfd_create("vanished", MFD_CLOEXEC);
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0);
    close(empty);
    return at;
}

} // namespace

EXPORTED Refused &fake_xpmem_refuses() {
    static thread_local Refused refuses = Refused::nothing;
    return refuses;
}

extern "C" {

EXPORTED std::int64_t xpmem_make(void *first, std::size_t bytes, int permit_type, void *permit) {
    if (refused(Refused::make))
        return -1;
    if (permit_type != 1 || (reinterpret_cast<std::uintptr_t>(permit) & ~std::uintptr_t{0777}) ||
        first != nullptr || bytes != ~std::size_t{0})
        return wrong(EINVAL);
    const std::lock_guard lock(mutex);
    return static_cast<std::int64_t>(getpid()) << kProcessShift | ++numbers;
}

EXPORTED int xpmem_remove(std::int64_t segment) {
    return segment >> kProcessShift == getpid() ? 0 : wrong(EACCES);
}

EXPORTED std::int64_t xpmem_get(std::int64_t segment, int flags, int permit_type, void *none) {
    if (refused(Refused::get))
        return -1;
    if (segment <= 0 || flags != 2 || permit_type != 1 || none != nullptr)
        return wrong(EINVAL);
    const auto process = static_cast<pid_t>(segment >> kProcessShift);
    if (kill(process, 0) != 0)
        return wrong(ENOENT, false);
    ++fake_xpmem.gets;
    const std::lock_guard lock(mutex);
    permits[++numbers] = process;
    return numbers;
}

EXPORTED int xpmem_release(std::int64_t permit) {
    ++fake_xpmem.releases;
    const std::lock_guard lock(mutex);
    return permits.erase(permit) == 1 ? 0 : wrong(ENOENT);
}

EXPORTED void *xpmem_attach(Address from, std::size_t bytes, void *to) {
    void *const none = reinterpret_cast<void *>(std::intptr_t{-1});
    if (refused(Refused::attach))
        return none;
    const auto first = static_cast<std::uintptr_t>(from.offset);
    const std::lock_guard lock(mutex);
    const auto permit = permits.find(from.permit);
    if (permit == permits.end() || first % page_bytes != 0 || bytes == 0 || to != nullptr) {
        wrong(EINVAL);
        return none;
    }
    bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (first > UINTPTR_MAX - bytes || kill(permit->second, 0) != 0) {
        wrong(ENOENT, false);
        return none;
    }
    const bool own = permit->second == getpid();
    const bool itself = own && fake_xpmem.follows;
    void *const at = itself                        ? reinterpret_cast<void *>(first)
                     : fake_xpmem.vanishes && !own ? nothing(bytes)
                                                   : copy_of(permit->second, first, bytes);
    if (at == MAP_FAILED)
        return none;
    ++fake_xpmem.attaches;
    attached.insert({at, {bytes, !itself}});
    return at;
}

EXPORTED int xpmem_detach(void *at) {
    ++fake_xpmem.detaches;
    const std::lock_guard lock(mutex);
    const auto found = attached.find(at);
    if (found == attached.end())
        return wrong(EINVAL);
    const Attached gone = found->second;
    attached.erase(found);
    return gone.copied ? munmap(at, gone.bytes) : 0;
}

} // extern "C"

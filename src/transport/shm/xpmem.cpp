// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/xpmem.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/lazy.hpp"
#include "base/shared_library.hpp"
#include "base/status.hpp"
#include "transport/shm/fault_guard.hpp"

namespace stretto::transport {

namespace {

// The kernel maps attached pages for reading and writing, whatever the reader does with them, and
// refuses to attach with any other permit.
constexpr int kReadWriteOption = 2;
constexpr int kPermitModeOption = 1; // the only type of permit: as the mode of a file
constexpr std::uintptr_t kOwnerMask = 0600;

// Stays loaded: attached memory may outlive any one communicator.
Xpmem load() {
    void *const library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw Error(Status::system, "cannot load libxpmem.so.0 (" + dl_reason() + ")");
    const SharedLibrary from(library, "libxpmem.so.0");
    Xpmem functions;
    from.find("xpmem_make", functions.make);
    from.find("xpmem_remove", functions.remove);
    from.find("xpmem_get", functions.get);
    from.find("xpmem_release", functions.release);
    from.find("xpmem_attach", functions.attach);
    from.find("xpmem_detach", functions.detach);
    return functions;
}

// A page of this process, and an attachment of it in this process.  The module does with that as
// with the attachments of other processes: one notifier for each owner takes a page out of all of
// them.
class TrialPage {
public:
    TrialPage(const Xpmem &functions, std::int64_t segment)
        : functions_(functions), bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          page_(fresh()), permit_(functions.permit_for(segment)) {
        if (page_ != nullptr && permit_ > 0) {
            write(1); // so that the page is there when it is attached
            attached_ =
                functions_.attach_at(permit_, reinterpret_cast<std::uintptr_t>(page_), bytes_);
        }
    }
    ~TrialPage() {
        if (attached_ != nullptr)
            (void)functions_.detach(attached_);
        if (permit_ > 0)
            (void)functions_.release(permit_);
        if (page_ != nullptr)
            (void)munmap(page_, bytes_);
    }
    TrialPage(const TrialPage &) = delete;
    TrialPage &operator=(const TrialPage &) = delete;

    // Whether the attachment shows what the page has, after each way to lose a page.
    bool follows() {
        if (attached_ == nullptr || !shows(1))
            return false;
        if (mmap(page_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != page_)
            return false;
        write(2);
        if (!shows(2) || madvise(page_, bytes_, MADV_DONTNEED) != 0)
            return false;
        write(3);
        if (!shows(3))
            return false;
        std::byte *const other = fresh();
        if (other == nullptr)
            return false;
        *other = std::byte{4};
        if (mremap(other, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, page_) != page_) {
            (void)munmap(other, bytes_);
            return false;
        }
        return shows(4);
    }

private:
    std::byte *fresh() const {
        void *const page =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? nullptr : static_cast<std::byte *>(page);
    }
    void write(int value) { *page_ = static_cast<std::byte>(value); }
    bool shows(int value) const {
        std::byte found{};
        const void *const at = attached_;
        const bool read = guarded({&at, 1, bytes_}, [&] {
                              found = static_cast<std::byte>(__atomic_load_n(
                                  reinterpret_cast<const unsigned char *>(at), __ATOMIC_SEQ_CST));
                          }) == kNoRead;
        return read && found == static_cast<std::byte>(value);
    }

    const Xpmem &functions_;
    const std::size_t bytes_;
    std::byte *const page_; // null: no memory
    const std::int64_t permit_;
    std::byte *attached_ = nullptr;
};

struct Made {
    pid_t process;
    std::int64_t segment;
};

Lazy<Xpmem> loaded;
std::atomic<const Made *> made{nullptr};

Made make() {
    const Xpmem &functions = xpmem();
    errno = 0;
    // All addresses: the kernel shortens the segment to those that a process can have.
    const std::int64_t segment = functions.make(nullptr, ~std::size_t{0}, kPermitModeOption,
                                                reinterpret_cast<void *>(kOwnerMask));
    if (segment <= 0)
        throw Error(Status::system,
                    std::string("the kernel module XPMEM does not share this process's memory: ") +
                        std::strerror(errno) + " (xpmem_make, /dev/xpmem)");
    return {getpid(), segment};
}

} // namespace

std::int64_t Xpmem::permit_for(std::int64_t segment) const {
    errno = 0;
    return get(segment, kReadWriteOption, kPermitModeOption, nullptr);
}

std::byte *Xpmem::attach_at(std::int64_t permit, std::uint64_t first, std::size_t bytes) const {
    errno = 0;
    void *const at = attach({permit, static_cast<off_t>(first)}, bytes, nullptr);
    return reinterpret_cast<std::intptr_t>(at) == -1 ? nullptr : static_cast<std::byte *>(at);
}

const Xpmem &xpmem() {
    return loaded.get(load);
}

std::int64_t own_segment() {
    const Made *now = made.load(std::memory_order_acquire);
    while (now == nullptr || now->process != getpid()) {
        auto mine = std::make_unique<const Made>(make());
        if (made.compare_exchange_strong(now, mine.get(), std::memory_order_acq_rel))
            return mine.release()->segment;
        (void)xpmem().remove(mine->segment); // another thread was sooner
    }
    return now->segment;
}

bool attachments_follow() {
    return TrialPage(xpmem(), own_segment()).follows();
}

} // namespace stretto::transport

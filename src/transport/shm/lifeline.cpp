// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/lifeline.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>

#include "base/status.hpp"

namespace stretto::transport {

// The kernel wants process number 0 in open file description locks.
static struct flock byte_of(int rank, short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
}

Lifeline::Lifeline(int file, std::size_t ranks)
    : file_(file), held_here_(std::make_unique<std::atomic<bool>[]>(ranks)) {}

// A descriptor that was received or duplicated shares the description of its sender.  Opening the
// file gives a new description, and memory without a name has a path in /proc only.
Descriptor Lifeline::open_again() const {
    const std::string path = "/proc/self/fd/" + std::to_string(file_);
    Descriptor again(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat known{}, found{};
    if (!again.open() || fstat(file_, &known) != 0 || fstat(again.get(), &found) != 0 ||
        known.st_dev != found.st_dev || known.st_ino != found.st_ino)
        return Descriptor();
    return again;
}

void Lifeline::hold(int rank) {
    const std::lock_guard lock(mutex_);
    if (!own_.open())
        own_ = open_again();
    struct flock life = byte_of(rank, F_WRLCK);
    // Without /proc: a lock of the process, which any close of this file in the process drops.
    const int failed =
        own_.open() ? fcntl(own_.get(), F_OFD_SETLK, &life) : fcntl(file_, F_SETLK, &life);
    if (failed != 0)
        throw_errno("cannot lock the shared segment");
    held_here_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
}

void Lifeline::release(int rank) noexcept {
    const std::lock_guard lock(mutex_);
    held_here_[static_cast<std::size_t>(rank)].store(false, std::memory_order_release);
    struct flock life = byte_of(rank, F_UNLCK);
    // The kernel drops the lock with the process at the latest.
    (void)(own_.open() ? fcntl(own_.get(), F_OFD_SETLK, &life) : fcntl(file_, F_SETLK, &life));
}

// F_GETLK sees the locks of all file descriptions, but not this process's own locks without one.
bool Lifeline::held(int rank) const {
    if (held_here_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire))
        return true;
    struct flock life = byte_of(rank, F_WRLCK);
    return fcntl(file_, F_GETLK, &life) != 0 || life.l_type != F_UNLCK;
}

} // namespace stretto::transport

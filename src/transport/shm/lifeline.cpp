// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/lifeline.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <sys/stat.h>

#include "base/status.hpp"

namespace stretto::transport {

// A descriptor that was received or duplicated shares the description of its sender.
Descriptor open_again(int file) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    Descriptor again(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat known{}, found{};
    if (!again.open() || fstat(file, &known) != 0 || fstat(again.get(), &found) != 0 ||
        known.st_dev != found.st_dev || known.st_ino != found.st_ino)
        return Descriptor();
    return again;
}

Lifeline::Lifeline(int file, int own, std::size_t first, std::size_t ranks)
    : file_(file), own_(own), first_(first), ranks_(ranks),
      held_here_(std::make_unique<std::atomic<bool>[]>(ranks)) {}

// The kernel wants process number 0 in open file description locks.
struct flock Lifeline::bytes(short type, std::size_t first, std::size_t count) const {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(first_ + first);
    lock.l_len = static_cast<off_t>(count);
    return lock;
}

// Without /proc: a lock of the process, which any close of this file in the process drops.
int Lifeline::set(struct flock &lock) const {
    return own_ >= 0 ? fcntl(own_, F_OFD_SETLK, &lock) : fcntl(file_, F_SETLK, &lock);
}

void Lifeline::hold(int rank) {
    struct flock life = bytes(F_WRLCK, static_cast<std::size_t>(rank), 1);
    if (set(life) != 0)
        throw_errno("cannot lock the shared segment");
    held_here_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
}

void Lifeline::release() noexcept {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (held_here_[rank].exchange(false, std::memory_order_acq_rel)) {
            struct flock life = bytes(F_UNLCK, rank, 1);
            (void)set(life); // the kernel drops the lock with the process at the latest
        }
}

// F_GETLK sees the locks of all file descriptions, but not this process's own locks without one.
bool Lifeline::held(int rank) const {
    if (held_here_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire))
        return true;
    struct flock life = bytes(F_WRLCK, static_cast<std::size_t>(rank), 1);
    return fcntl(file_, F_GETLK, &life) != 0 || life.l_type != F_UNLCK;
}

bool Lifeline::held_by_any() const {
    struct flock lives = bytes(F_WRLCK, 0, ranks_);
    return fcntl(file_, F_GETLK, &lives) != 0 || lives.l_type != F_UNLCK;
}

} // namespace stretto::transport

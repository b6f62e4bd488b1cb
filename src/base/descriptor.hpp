// SPDX-License-Identifier: BSD-3-Clause
// A file descriptor that is closed with its owner, and in a child that is forked.
#pragma once

#include <unistd.h>
#include <utility>

#include "base/process.hpp"

namespace stretto {

class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) { close_in_children(fd_); }
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (forget_descriptor(fd_))
            close(fd_);
    }

    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }

private:
    int fd_;
};

} // namespace stretto

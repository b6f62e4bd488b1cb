// SPDX-License-Identifier: BSD-3-Clause
// Jobs that lose ranks and go on.
#pragma once

#include <arpa/inet.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <numeric>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "stretto/stretto.h"
#include "support/environment.hpp"

namespace test {

// Whether the run is to be on several hosts, as STRETTO_FAKE_HOSTS names them.
inline bool across_hosts() {
    return std::getenv("STRETTO_FAKE_HOSTS") != nullptr;
}

// An address of this machine at which nobody listens.
inline std::string free_address() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length) != 0)
        std::perror("a free port");
    close(fd);
    return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// Where the ranks of the next job meet, if they are on several hosts: elsewhere than those of any
// other.
class MeetingPlace {
public:
    MeetingPlace()
        : address_(across_hosts() ? std::make_unique<With>("STRETTO_ADDR", free_address().c_str())
                                  : nullptr) {}

private:
    std::unique_ptr<With> address_;
};

// A rank's communicator, whatever is left of the job.
class Survivor {
public:
    explicit Survivor(stretto_comm comm)
        : comm_(comm), rank_(stretto_rank(comm)),
          ranks_(static_cast<std::size_t>(stretto_size(comm))) {
        std::iota(ranks_.begin(), ranks_.end(), 0);
    }
    // Leaves in good order: a process that just ends is dead to the others.
    ~Survivor() { stretto_finalize(&comm_); }
    Survivor(const Survivor &) = delete;
    Survivor &operator=(const Survivor &) = delete;

    stretto_comm comm() const { return comm_; }
    int rank() const { return rank_; }                       // at first
    const std::vector<int> &ranks() const { return ranks_; } // those of the others, at first
    std::uint64_t completed() const { return completed_; }   // as the last shrink said

    // Goes on with what is left.
    stretto_status shrink() {
        stretto_comm next = nullptr;
        const stretto_status status = stretto_comm_shrink(comm_, &completed_, &next);
        if (status != STRETTO_OK)
            return status;
        std::vector<int> ranks;
        for (int rank = 0; rank < stretto_size(next); ++rank)
            ranks.push_back(ranks_[static_cast<std::size_t>(stretto_comm_parent_rank(next, rank))]);
        ranks_ = ranks;
        const stretto_status old = stretto_barrier(comm_); // refused
        const stretto_status left = stretto_finalize(&comm_);
        comm_ = next;
        if (old != STRETTO_ERR_REVOKED || left != STRETTO_OK ||
            ranks_[static_cast<std::size_t>(stretto_rank(comm_))] != rank_)
            return STRETTO_ERR_INTERNAL;
        return STRETTO_OK;
    }

    // One allreduce, with an answer that depends on who is there and on the place in the vector;
    // what is wrong is STRETTO_ERR_INTERNAL.
    stretto_status reduce(std::size_t count) {
        send_.resize(count);
        recv_.assign(count, -1);
        std::int64_t of_all = 0;
        for (const int rank : ranks_)
            of_all += factor(rank);
        for (std::size_t i = 0; i < count; ++i)
            send_[i] = factor(rank_) * static_cast<std::int64_t>(i + 1);
        const stretto_status status =
            stretto_allreduce(comm_, send_.data(), recv_.data(), count, STRETTO_INT64, STRETTO_SUM);
        if (status != STRETTO_OK)
            return status;
        for (std::size_t i = 0; i < count; ++i)
            if (recv_[i] != of_all * static_cast<std::int64_t>(i + 1)) {
                std::fprintf(stderr, "rank %d: wrong sum at %zu\n", rank_, i);
                return STRETTO_ERR_INTERNAL;
            }
        return STRETTO_OK;
    }

    // Reduces until something fails, here for sure if this is the rank that dies after some calls;
    // how often that went well.
    std::uint64_t reduce_until_told(std::size_t count, int victim, stretto_status &status) {
        constexpr std::uint64_t kLast = 3;
        std::uint64_t calls = 0;
        while ((status = reduce(count)) == STRETTO_OK)
            if (++calls == kLast && rank_ == victim)
                raise(SIGKILL);
        return calls;
    }

    // Says what happened, for the log of a test that fails.
    int failed(int code, stretto_status status) const {
        std::fprintf(stderr, "rank %d of %zu: %s: %s (exit %d)\n", rank_, ranks_.size(),
                     stretto_status_name(status), stretto_last_error(), code);
        return code;
    }

private:
    static std::int64_t factor(int rank) { return std::int64_t{1} << (4 * rank); }

    stretto_comm comm_;
    const int rank_;
    std::vector<int> ranks_;
    std::uint64_t completed_ = 0;
    std::vector<std::int64_t> send_, recv_;
};

} // namespace test

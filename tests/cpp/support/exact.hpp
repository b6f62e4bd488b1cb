// SPDX-License-Identifier: BSD-3-Clause
// One call of any collective on data of which the answer is known, and what was wrong with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "schedule/contract.hpp"
#include "support/buffer.hpp"
#include "support/oracle.hpp"

namespace test {

using stretto::schedule::Collective;

struct Call {
    Collective collective = Collective::allreduce;
    std::size_t count = 0;
    stretto_dtype dtype = STRETTO_FLOAT32;
    stretto_op op = STRETTO_SUM;
    int root = 0;
    bool in_place = false;                        // means nothing to a broadcast
    bool shared = false;                          // buffers in the shared heap
    std::size_t send_offset = 0, recv_offset = 0; // bytes from a cache line; may differ by rank
};

// "reduce of 1009 x int32, max, root 3, in place, shared, at 0 and 60"
inline std::string label(const Call &call) {
    return std::string(stretto::schedule::name(call.collective)) + " of " +
           std::to_string(call.count) + " x " + std::string(name(static_cast<Dtype>(call.dtype))) +
           ", " + std::string(name(static_cast<stretto::ReduceOp>(call.op))) + ", root " +
           std::to_string(call.root) + (call.in_place ? ", in place" : "") +
           (call.shared ? ", shared" : "") + ", at " + std::to_string(call.send_offset) + " and " +
           std::to_string(call.recv_offset);
}

template<class T>
class Player {
public:
    Player(stretto_comm comm, const Call &call)
        : comm_(comm), call_(call), rank_(stretto_rank(comm)), size_(stretto_size(comm)),
          mine_(call.count * static_cast<std::size_t>(rank_)),
          all_(call.count * static_cast<std::size_t>(size_)),
          in_place_(call.in_place && (call.collective != Collective::reduce || rank_ == call.root)),
          send_(comm, in_place_ || broadcasts() ? 0 : sent(), call.shared, call.send_offset),
          recv_(comm, in_place_ ? std::max(sent(), received()) : received(), call.shared,
                call.recv_offset) {}

    // Empty, or what was wrong.
    std::string play() {
        if (!broadcasts() || rank_ == call_.root)
            contribute();
        check(run());
        if (!send_.guards_hold() || !recv_.guards_hold())
            return "written outside of a buffer";
        if (call_.collective == Collective::reduce && rank_ != call_.root && !recv_.untouched())
            return "written where there is no result";
        if (!in_place_ && !broadcasts() && !input_kept())
            return "the contribution has changed";
        return compare();
    }

private:
    bool broadcasts() const { return call_.collective == Collective::broadcast; }
    bool gathers() const { return call_.collective == Collective::allgather; }
    bool scatters() const { return call_.collective == Collective::reduce_scatter; }
    std::size_t sent() const { return scatters() ? all_ : call_.count; }
    std::size_t received() const { return gathers() ? all_ : call_.count; }

    // Elements are numbered by their place in the whole vector.
    std::size_t first() const { return gathers() ? mine_ : 0; }
    T contributed(int rank, std::size_t index) const {
        return contribution<T>(call_.op, rank, index);
    }

    void contribute() {
        const bool here = in_place_ || broadcasts();
        Buffer<T> &input = here ? recv_ : send_;
        const std::size_t shift = here && gathers() ? mine_ : 0;
        for (std::size_t i = 0; i < sent(); ++i)
            input.set(shift + i, contributed(rank_, first() + i));
    }

    bool input_kept() {
        for (std::size_t i = 0; i < sent(); ++i)
            if (send_.get(i) != contributed(rank_, first() + i))
                return false;
        return true;
    }

    stretto_status run() {
        const void *const input = in_place_ ? STRETTO_IN_PLACE : send_.data();
        void *const output = recv_.data();
        switch (call_.collective) {
        case Collective::reduce:
            return stretto_reduce(comm_, input, output, call_.count, call_.dtype, call_.op,
                                  call_.root);
        case Collective::broadcast:
            return stretto_broadcast(comm_, output, call_.count, call_.dtype, call_.root);
        case Collective::reduce_scatter:
            return stretto_reduce_scatter(comm_, input, output, call_.count, call_.dtype, call_.op);
        case Collective::allgather:
            return stretto_allgather(comm_, input, output, call_.count, call_.dtype);
        default: return stretto_allreduce(comm_, input, output, call_.count, call_.dtype, call_.op);
        }
    }

    T answer(std::size_t i, int part) const {
        if (broadcasts() || gathers())
            return contributed(gathers() ? part : call_.root, i);
        return expected<T>(call_.op, size_, scatters() ? mine_ + i : i);
    }

    // "2 of 16 wrong, the first at 5: 7, not 9"
    std::string compare() {
        if (call_.collective == Collective::reduce && rank_ != call_.root)
            return "";
        std::size_t wrong = 0;
        std::string first;
        for (int part = 0; part < (gathers() ? size_ : 1); ++part)
            for (std::size_t k = 0; k < call_.count; ++k) {
                const std::size_t i = static_cast<std::size_t>(part) * call_.count + k;
                const T got = recv_.get(i), right = answer(i, part);
                if (got != right && ++wrong == 1)
                    first = std::to_string(i) + ": " + shown(got) + ", not " + shown(right);
            }
        return wrong == 0 ? ""
                          : std::to_string(wrong) + " of " + std::to_string(received()) +
                                " wrong, the first at " + first;
    }

    const stretto_comm comm_;
    const Call call_;
    const int rank_, size_;
    const std::size_t mine_, all_; // elements before this rank's part, and of the whole vector
    const bool in_place_;
    Buffer<T> send_, recv_;
};

inline std::string play(stretto_comm comm, const Call &call) {
    return with_type(static_cast<Dtype>(call.dtype),
                     [&]<class T>(T) { return Player<T>(comm, call).play(); });
}

} // namespace test

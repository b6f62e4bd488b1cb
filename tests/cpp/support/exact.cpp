// SPDX-License-Identifier: BSD-3-Clause
#include "support/exact.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/contract.hpp"
#include "support/buffer.hpp"
#include "support/oracle.hpp"

namespace test {

namespace {

// What stretto.h says of buffers.  Elements are numbered by their place in the whole vector, of
// which every rank owns a part.
template<class T>
class Player : public Played {
public:
    Player(stretto_comm comm, const Call &call)
        : comm_(comm), call_(call), rank_(stretto_rank(comm)), size_(stretto_size(comm)),
          starts_(starts(call, size_)), in_place_(call.in_place && (!rooted() || is_root())),
          send_(comm, has_send() ? sent() : 0, call.shared, call.send_offset),
          recv_(comm, in_place_ ? std::max(sent(), received()) : received(), call.shared,
                call.recv_offset) {
        if (is(Collective::broadcast) ? is_root() : sent() > 0)
            contribute();
    }

    stretto_status run() override { return test::run(comm_, call_, input(), output()); }
    stretto_status start(stretto_request *request) override {
        return test::start(comm_, call_, input(), output(), request);
    }

    std::string verdict() override {
        if (!send_.guards_hold() || !recv_.guards_hold())
            return "written outside of a buffer";
        if (!has_result() && !recv_.untouched())
            return "written where there is no result";
        if (has_send() && !input_kept())
            return "the contribution has changed";
        return has_result() ? compare() : "";
    }

private:
    bool is(Collective collective) const { return call_.collective == collective; }
    // The root of a scatter keeps its part by what it passes as its result.
    bool keeps() const { return in_place_ && is(Collective::scatter); }
    const void *input() { return in_place_ && !keeps() ? STRETTO_IN_PLACE : send_.data(); }
    void *output() { return keeps() ? const_cast<void *>(STRETTO_IN_PLACE) : recv_.data(); }
    bool is_root() const { return rank_ == call_.root; }
    bool rooted() const {
        return is(Collective::reduce) || is(Collective::gather) || is(Collective::scatter);
    }
    bool gathers() const { return is(Collective::allgather) || is(Collective::gather); }
    // The contribution has a buffer of its own.
    bool has_send() const {
        return is(Collective::scatter) || (!in_place_ && !is(Collective::broadcast));
    }
    bool has_result() const {
        return is(Collective::scatter) ? !in_place_ : !rooted() || is_root();
    }

    // Of the parts of all ranks, and their end.
    static std::vector<std::size_t> starts(const Call &call, int size) {
        std::vector<std::size_t> found = {0};
        for (std::size_t r = 0; r < static_cast<std::size_t>(size); ++r)
            found.push_back(found.back() + (call.counts.empty() ? call.count : call.counts[r]));
        return found;
    }
    std::size_t before(int rank) const { return starts_[static_cast<std::size_t>(rank)]; }
    std::size_t part(int rank) const { return before(rank + 1) - before(rank); }
    std::size_t sent() const {
        if (is(Collective::scatter))
            return is_root() ? before(size_) : 0;
        if (gathers())
            return part(rank_);
        return whole();
    }
    std::size_t received() const {
        if (is(Collective::reduce_scatter) || is(Collective::scatter))
            return part(rank_);
        return whole();
    }
    std::size_t whole() const {
        const bool one =
            is(Collective::allreduce) || is(Collective::reduce) || is(Collective::broadcast);
        return one ? call_.count : before(size_);
    }

    // Where the contribution begins in the whole vector.
    std::size_t first() const { return gathers() ? before(rank_) : 0; }
    T contributed(int rank, std::size_t index) const {
        return contribution<T>(call_.op, rank, index + call_.salt);
    }

    void contribute() {
        Buffer<T> &input = has_send() ? send_ : recv_;
        const std::size_t shift = has_send() ? 0 : first();
        for (std::size_t i = 0; i < sent(); ++i)
            input.set(shift + i, contributed(rank_, first() + i));
    }

    bool input_kept() {
        for (std::size_t i = 0; i < sent(); ++i)
            if (send_.get(i) != contributed(rank_, first() + i))
                return false;
        return true;
    }

    // Element i of the result; `part_of` is the rank whose part of the vector it lies in.
    T answer(std::size_t i, int part_of) const {
        switch (call_.collective) {
        case Collective::broadcast: return contributed(call_.root, i);
        case Collective::allgather:
        case Collective::gather: return contributed(part_of, i);
        case Collective::scatter: return contributed(call_.root, before(rank_) + i);
        case Collective::alltoall: return contributed(part_of, before(rank_) + i - before(part_of));
        case Collective::reduce_scatter:
            return expected<T>(call_.op, size_, before(rank_) + i + call_.salt);
        default: return expected<T>(call_.op, size_, i + call_.salt);
        }
    }

    // "2 of 16 wrong, the first at 5: 7, not 9"
    std::string compare() {
        const bool parts = gathers() || is(Collective::alltoall);
        std::size_t wrong = 0, i = 0;
        std::string found;
        for (int owner = 0; owner < (parts ? size_ : 1); ++owner)
            for (const std::size_t end = parts ? before(owner + 1) : received(); i < end; ++i) {
                const T got = recv_.get(i), right = answer(i, owner);
                if (got != right && ++wrong == 1)
                    found = std::to_string(i) + ": " + shown(got) + ", not " + shown(right);
            }
        return wrong == 0 ? ""
                          : std::to_string(wrong) + " of " + std::to_string(received()) +
                                " wrong, the first at " + found;
    }

    const stretto_comm comm_;
    const Call call_;
    const int rank_, size_;
    const std::vector<std::size_t> starts_;
    const bool in_place_;
    Buffer<T> send_, recv_;
};

} // namespace

std::string label(const Call &call) {
    std::string counts;
    for (const std::size_t count : call.counts)
        counts.append(counts.empty() ? "" : " ").append(std::to_string(count));
    return std::string(stretto::schedule::name(call.collective)) + " of " +
           (counts.empty() ? std::to_string(call.count) : counts) + ", dtype " +
           std::to_string(call.dtype) + ", op " + std::to_string(call.op) + ", root " +
           std::to_string(call.root) + (call.in_place ? ", in place" : "") +
           (call.shared ? ", shared" : "") + (call.nonblocking ? ", nonblocking" : "") + ", at " +
           std::to_string(call.send_offset) + " and " + std::to_string(call.recv_offset);
}

std::unique_ptr<Played> prepare(stretto_comm comm, const Call &call) {
    return with_type(static_cast<Dtype>(call.dtype), [&]<class T>(T) -> std::unique_ptr<Played> {
        return std::make_unique<Player<T>>(comm, call);
    });
}

std::string play(stretto_comm comm, const Call &call) {
    const std::unique_ptr<Played> played = prepare(comm, call);
    check(played->run());
    return played->verdict();
}

} // namespace test

// SPDX-License-Identifier: BSD-3-Clause
// The records of one communicator in its rank's trace.  The thread that plays calls records calls,
// steps and waits; it is one thread at a time.  Any thread may record link traffic, queues and
// failures. Recording never fails: without memory for a name, a call has no name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/types.hpp"
#include "trace/buffer.hpp"

namespace stretto::trace {

// A call, in the terms of the trace.
struct CallWords {
    std::string_view collective;
    Dtype dtype = Dtype::i8;
    ReduceOp op = ReduceOp::sum;
    bool reduces = false, has_data = true;
    int root = -1; // none
    bool nonblocking = false, by_pairs = false;
};

class Recorder {
public:
    static constexpr int kAnyRank = -1;

    // The packed description of the call, as the communicator makes it.
    using Translate = std::function<CallWords(std::uint64_t what)>;

    Recorder(std::shared_ptr<Buffer> buffer, int rank, int size, std::string_view name,
             Translate translate);
    // Ends all calls that are still open: the communicator has ended.
    ~Recorder();
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    struct Call {
        std::uint64_t sequence, what, count, bytes;
        std::string_view algorithm;
        bool synchronizing;
    };
    void call_begins(const Call &call);
    void call_ends(std::uint64_t sequence);

    struct Step {
        std::uint64_t call;
        std::uint32_t step, bytes, operands;
        bool stores, publishes;
    };
    // The number of ranks, and the first four of them.
    struct Ranks {
        std::uint64_t count = 0, word = 0;
        void add(int rank) {
            if (count < 4)
                word |= static_cast<std::uint64_t>(rank & 0xffff) << (16 * count);
            ++count;
        }
    };
    // `begin` is step_begins().
    std::uint64_t step_begins();
    void step_ends(std::uint64_t begin, const Step &step, const Ranks &sources,
                   const Ranks &readers);

    // The call waits for `rank`.  The engine reports this again and again while the call waits; the
    // next step, or the end of the call, ends the wait.
    void waits(std::uint64_t call, std::uint32_t step, int rank) {
        if (wait_.begin == 0 || wait_.call != call || wait_.step != step || wait_.rank != rank)
            wait_begins(call, step, rank);
    }
    // The wait is long: it is recorded now, so that the trace of a killed rank shows what it waited
    // for.
    void waits_long();

    // Bytes to and from other hosts; `total`: all so far.
    void sent(int rank, std::uint32_t bytes, std::uint64_t total);
    void received(int rank, std::uint32_t bytes, std::uint64_t total);
    // A queue in which this rank's messages are matched has another scheme.
    void queue_converts(bool unexpected, std::string_view from, std::string_view to,
                        std::uint64_t items);
    void failed(std::string_view message);

    Buffer &buffer() { return *buffer_; }
    const std::shared_ptr<Buffer> &shared_buffer() const { return buffer_; }

private:
    struct Wait {
        std::uint64_t begin = 0; // 0: none
        std::uint64_t call = 0;
        std::uint32_t step = 0;
        int rank = kAnyRank;
        bool recorded = false;
    };

    void wait_begins(std::uint64_t call, std::uint32_t step, int rank);
    void wait_ends(std::uint64_t now);
    Record record_of(const Wait &wait, Kind kind, std::uint64_t end) const;
    struct Name {
        std::string text;
        std::uint32_t number = 0;
    };
    std::uint32_t number_of(std::string_view text, Name &last) noexcept;

    const std::shared_ptr<Buffer> buffer_;
    const std::uint16_t communicator_;
    const Translate translate_;
    Wait wait_;
    // The names of the last call, which the next call is likely to use again.
    Name collective_, algorithm_;
};

} // namespace stretto::trace

// SPDX-License-Identifier: BSD-3-Clause
// What a rank notes of its calls, by kind, for the report of who comes late
// (docs/report.md): how many and how long, and of a sample of them when it came and left.
//
//     | header | for each kind: its line, its sample |
//
// All of it is in a file (base/rank_file.hpp) of a fixed size, however long the rank runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "arrival/call_sample.hpp"
#include "base/config.hpp"
#include "base/rank_file.hpp"

namespace stretto::arrival {

// Calls of one kind: what a program has at one place, as far as the library can tell.
struct CallKind {
    // Of the communicator: the same number on its ranks, and this rank in it.
    std::uint64_t communicator = 0;
    std::string communicator_name;
    int rank = 0, size = 1;
    std::string collective, dtype, op; // "" if there is none
    int root = -1;                     // none
    std::uint64_t count = 0, bytes = 0;
    bool operator==(const CallKind &) const = default;
};

struct KindLine {
    std::atomic<std::uint64_t> there; // 1 when the rest is
    std::uint64_t communicator;
    std::int32_t rank, size, root;
    std::uint64_t count, bytes;
    std::array<char, 128> communicator_name;
    std::array<char, 32> collective, dtype, op;
    // Calls begun and complete; nanoseconds in those, and from the end of the rank's last call of
    // any kind to the beginning of one of these.
    std::atomic<std::uint64_t> begun, complete, inside, outside;
    std::atomic<std::uint64_t> stride; // of the sample
};

// What a rank notes of a queue of its messages: of all its communicators together, or of the one
// where it was longest.
struct QueueUse {
    std::uint64_t searches = 0, looks = 0; // of all; looks at items
    std::uint64_t conversions = 0;         // of all, of the scheme of matching
    std::uint64_t deepest = 0;             // of the longest: the most that waited at the same time
    // Of the longest, too: of so many items that waited when it was long, these shares had this
    // source and this tag, which most of them had.
    std::uint64_t counted = 0;
    int source = -1, tag = -1;
    double source_share = 0, tag_share = 0;
    bool operator==(const QueueUse &) const = default;
};

struct QueueLine {
    std::atomic<std::uint64_t> searches, looks, conversions, deepest, counted;
    std::atomic<std::int32_t> source, tag;
    std::atomic<double> source_share, tag_share;

    void add(const QueueUse &use);
    QueueUse use() const;
};

struct CallLogHeader {
    RankFileHeader who;
    std::uint64_t kinds, places; // of a sample
    // Calls of kinds for which there was no room.
    std::atomic<std::uint64_t> left_out;
    QueueLine posted, unexpected;
};

class CallLog {
public:
    static constexpr std::size_t kKinds = 128, kKeptCalls = 1024;

    // What is written of one kind, by one thread at a time.
    class Calls {
    public:
        Calls(CallLog &log, KindLine *line, std::span<KeptCall> places)
            : log_(log), line_(line), sample_(places) {}
        // The offset is what to add for the job's clock, or kUnknown.
        void begin(std::uint64_t now, std::int64_t offset);
        void end(std::uint64_t now);

        // Of a call that the caller starts, computes beside, and ends: one of several at a time.
        // It counts as long as the caller was in it, that is, as if it had ended so long after it
        // began.
        struct Running {
            KeptCall *place = nullptr; // of the sample, while it is this call's
            std::uint64_t number = 0, began = 0, inside = 0;
        };
        Running begin_beside(std::uint64_t now, std::int64_t offset);
        void started(Running &call, std::uint64_t now);
        void end_beside(const Running &call, std::uint64_t entered, std::uint64_t now);

    private:
        CallLog &log_;
        KindLine *const line_; // null: there is no room for it
        CallSample sample_;
        std::uint64_t began_ = 0;
        KeptCall *place_ = nullptr; // of the last call
    };

    // Null if the config asks for no report.  Throws Error if its file cannot be made, or has no
    // room.
    static std::shared_ptr<CallLog> open(const Config::Report &config, const RankIdentity &me);

    CallLog(const std::string &folder, const RankIdentity &me);

    // They stay where they are.  Of kinds for which there is no room calls are only counted.
    Calls &of(const CallKind &kind) noexcept;
    // Of a communicator that ends: its receives that waited for messages, and the reverse.
    void add_queues(const QueueUse &posted, const QueueUse &unexpected);

private:
    Calls &make(const CallKind &kind);

    const RankFile file_;
    CallLogHeader *header_;
    std::atomic<std::uint64_t> left_{0}; // when the last call ended; 0: there was none
    Calls left_out_{*this, nullptr, {}};
    std::mutex mutex_; // of what follows
    std::vector<std::pair<CallKind, std::unique_ptr<Calls>>> kinds_;
};

// As it is read, of a rank that runs, has ended, or was killed.
struct CallsOfRank {
    struct Call {
        std::uint64_t number, begin, end; // end 0: it was not over
        std::int64_t offset;
    };
    struct Kind {
        CallKind what;
        std::uint64_t begun, complete, inside, outside, stride;
        std::vector<Call> kept; // in the order of their numbers
    };
    std::string job, host, clock;
    std::uint64_t job_id = 0, left_out = 0;
    QueueUse posted, unexpected;
    int rank = 0, ranks = 1, pid = 0;
    std::vector<Kind> kinds;
};

// Throws Error, with `path` in it, if this is no such file, or not all of it.
CallsOfRank read_calls(std::span<const std::byte> bytes, const std::string &path);
CallsOfRank read_calls(const std::string &path);

} // namespace stretto::arrival

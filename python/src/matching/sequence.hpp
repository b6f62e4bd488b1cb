// SPDX-License-Identifier: BSD-3-Clause
// What a receiver does, operation by operation: made ahead, so that nothing but matching is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "p2p/matching/match_queue.hpp"
#include "p2p/matching/matching_model.hpp"

namespace stretto::matching {

inline constexpr std::int32_t kNone = p2p::MatchingModel::kNone;

enum class Kind : std::uint8_t { post, arrive, find, withdraw };

struct Operation {
    Kind kind = Kind::post;
    std::int32_t number = kNone; // of the receive (post, withdraw) or of the message (arrive)
    p2p::Envelope envelope;      // not of withdraw
    // What MPI demands: the message that the receive takes or that is found, the receive that takes
    // the message, or none.
    std::int32_t partner = kNone;

    bool matches() const {
        return partner != kNone && (kind == Kind::post || kind == Kind::arrive);
    }
};

struct Sequence {
    std::vector<Operation> operations;
    std::size_t rounds = 0, matches = 0;
    // Numbers of receives and of messages are below these.
    std::size_t receives = 0, messages = 0;
    // The most that wait at the same time.
    std::size_t most_posted = 0, most_unexpected = 0;
};

struct Shape {
    int peers = 1; // the messages come from sources 0 to peers - 1
    int depth = 1; // messages of each peer at the same time
    std::size_t matches = 1;
    unsigned seed = 1;
};

// Writes a sequence, in rounds until it has the wanted number of matches.  Each operation is played
// by the model at once, so a pattern can look at what waits.
//
// Both queues are empty when a round begins, and numbers begin with 0 again: as in a program that
// uses the same requests in each round.
class Writer {
public:
    explicit Writer(const Shape &shape);

    // Begins a round, unless there are matches enough.  There are two rounds at least.
    bool begin_round();
    std::int32_t post(const p2p::Envelope &wanted); // gives the number of the receive
    void arrive(const p2p::Envelope &has);
    void find(const p2p::Envelope &wanted);
    void withdraw(std::int32_t receive);

    void post_all(const std::vector<p2p::Envelope> &wanted);
    void arrive_all(const std::vector<p2p::Envelope> &have);

    int peers() const { return shape_.peers; }
    int depth() const { return shape_.depth; }
    const p2p::MatchingModel &model() const { return model_; }
    // The round that has begun: 0, 1, ...
    std::size_t round() const { return sequence_.rounds - 1; }

    // Random numbers that are the same on all machines: 0 to limit - 1.
    int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
    template<class Element>
    void shuffle(std::vector<Element> &elements) {
        for (std::size_t left = elements.size(); left > 1; --left)
            std::swap(elements[left - 1],
                      elements[static_cast<std::size_t>(below(static_cast<int>(left)))]);
    }

    // After the last round.
    Sequence finish();

private:
    void write(Operation operation);
    void require_empty_queues() const;

    const Shape shape_;
    p2p::MatchingModel model_;
    Sequence sequence_;
    std::mt19937 random_;
    std::int32_t next_receive_ = 0, next_message_ = 0;
};

} // namespace stretto::matching

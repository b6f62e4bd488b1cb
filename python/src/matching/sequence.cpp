// SPDX-License-Identifier: BSD-3-Clause
#include "matching/sequence.hpp"

#include <algorithm>

#include "base/status.hpp"

namespace stretto::matching {

Writer::Writer(const Shape &shape) : shape_(shape), random_(shape.seed) {}

bool Writer::begin_round() {
    require_empty_queues();
    if (sequence_.rounds >= 2 && sequence_.matches >= shape_.matches)
        return false;
    ++sequence_.rounds;
    next_receive_ = next_message_ = 0;
    return true;
}

std::int32_t Writer::post(const p2p::Envelope &wanted) {
    const std::int32_t number = next_receive_++;
    write({Kind::post, number, wanted, model_.post(number, wanted)});
    return number;
}

void Writer::arrive(const p2p::Envelope &has) {
    const std::int32_t number = next_message_++;
    write({Kind::arrive, number, has, model_.arrive(number, has)});
}

void Writer::find(const p2p::Envelope &wanted) {
    write({Kind::find, kNone, wanted, model_.find(wanted)});
}

void Writer::withdraw(std::int32_t receive) {
    model_.withdraw(receive);
    write({Kind::withdraw, receive, {}, kNone});
}

void Writer::post_all(const std::vector<p2p::Envelope> &wanted) {
    for (const p2p::Envelope &each : wanted)
        post(each);
}

void Writer::arrive_all(const std::vector<p2p::Envelope> &have) {
    for (const p2p::Envelope &each : have)
        arrive(each);
}

Sequence Writer::finish() {
    require_empty_queues();
    return std::move(sequence_);
}

void Writer::write(Operation operation) {
    sequence_.matches += operation.matches() ? 1 : 0;
    sequence_.operations.push_back(operation);
    const auto raise = [](std::size_t &most, std::size_t value) { most = std::max(most, value); };
    raise(sequence_.receives, static_cast<std::size_t>(next_receive_));
    raise(sequence_.messages, static_cast<std::size_t>(next_message_));
    raise(sequence_.most_posted, model_.posted().size());
    raise(sequence_.most_unexpected, model_.arrived().size());
}

void Writer::require_empty_queues() const {
    if (!model_.posted().empty() || !model_.arrived().empty())
        throw Error(Status::internal, "a pattern of messages left some unmatched after a round");
}

} // namespace stretto::matching

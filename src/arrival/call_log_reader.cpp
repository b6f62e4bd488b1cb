// SPDX-License-Identifier: BSD-3-Clause
// Nothing that is read is believed: it may be of a rank that runs, or died in the middle of a
// store.
#include <algorithm>
#include <optional>

#include "arrival/call_log_format.hpp"
#include "base/status.hpp"

namespace stretto::arrival {

namespace {

using Kind = CallsOfRank::Kind;
using Call = CallsOfRank::Call;

std::optional<Call> call_of(const KeptCall &place) {
    const std::uint64_t number = place.number.load(std::memory_order_acquire);
    const Call call{number - 1, place.begin.load(std::memory_order_acquire),
                    place.end.load(std::memory_order_acquire),
                    place.offset.load(std::memory_order_acquire)};
    if (number == 0 || place.number.load(std::memory_order_relaxed) != number)
        return std::nullopt;
    return call;
}

// Each once, though it may be at two places (CallSample::thin).
std::vector<Call> calls_of(std::span<const KeptCall> places, std::uint64_t stride) {
    std::vector<Call> calls;
    for (const KeptCall &place : places)
        if (const auto call = call_of(place); call && call->number % stride == 0)
            calls.push_back(*call);
    std::ranges::stable_sort(calls, {}, &Call::number);
    const auto same = [](const Call &a, const Call &b) { return a.number == b.number; };
    calls.erase(std::unique(calls.begin(), calls.end(), same), calls.end());
    return calls;
}

Kind kind_of(const KindLine &line, std::span<const KeptCall> places) {
    Kind kind{};
    kind.what = {line.communicator,
                 text_of(line.communicator_name),
                 line.rank,
                 line.size,
                 text_of(line.collective),
                 text_of(line.dtype),
                 text_of(line.op),
                 line.root,
                 line.count,
                 line.bytes};
    kind.begun = line.begun.load(std::memory_order_relaxed);
    kind.complete = line.complete.load(std::memory_order_relaxed);
    kind.inside = line.inside.load(std::memory_order_relaxed);
    kind.outside = line.outside.load(std::memory_order_relaxed);
    kind.stride = std::max<std::uint64_t>(1, line.stride.load(std::memory_order_relaxed));
    kind.kept = calls_of(places, kind.stride);
    return kind;
}

} // namespace

QueueUse QueueLine::use() const {
    constexpr auto kOrder = std::memory_order_relaxed;
    return {searches.load(kOrder), looks.load(kOrder),        conversions.load(kOrder),
            deepest.load(kOrder),  counted.load(kOrder),      source.load(kOrder),
            tag.load(kOrder),      source_share.load(kOrder), tag_share.load(kOrder)};
}

CallsOfRank read_calls(std::span<const std::byte> bytes, const std::string &path) {
    const auto refuse = [&](const std::string &why) {
        throw Error(Status::argument, path + " " + why);
    };
    if (bytes.size() < kHeaderBytes)
        refuse("is too short for a report of Stretto: a rank that has just begun, or a copy that "
               "was cut off");
    const auto &header = *reinterpret_cast<const CallLogHeader *>(bytes.data());
    if (header.who.magic != kMagic)
        refuse("is no report of this version of Stretto");
    if (header.kinds > CallLog::kKinds || header.places > CallLog::kKeptCalls ||
        bytes.size() < kHeaderBytes + header.kinds * bytes_of_kind(header.places))
        refuse("is cut off");
    if (header.who.ranks < 1 || header.who.rank < 0 || header.who.rank >= header.who.ranks)
        refuse("says that it is of rank " + std::to_string(header.who.rank) + " of " +
               std::to_string(header.who.ranks));
    CallsOfRank found;
    found.job = text_of(header.who.job);
    found.host = text_of(header.who.host);
    found.clock = text_of(header.who.clock);
    found.job_id = header.who.job_id;
    found.left_out = header.left_out.load(std::memory_order_relaxed);
    found.posted = header.posted.use();
    found.unexpected = header.unexpected.use();
    found.rank = header.who.rank;
    found.ranks = header.who.ranks;
    found.pid = header.who.pid;
    for (std::size_t i = 0; i < header.kinds; ++i) {
        const std::byte *const place =
            bytes.data() + kHeaderBytes + i * bytes_of_kind(header.places);
        const auto &line = *reinterpret_cast<const KindLine *>(place);
        if (line.there.load(std::memory_order_acquire) == 0)
            break;
        if (line.size < 1 || line.rank < 0 || line.rank >= line.size)
            refuse("says of a communicator of " + std::to_string(line.size) +
                   " ranks that it is its rank " + std::to_string(line.rank));
        const auto *const places = reinterpret_cast<const KeptCall *>(place + kLineBytes);
        found.kinds.push_back(kind_of(line, {places, header.places}));
    }
    return found;
}

CallsOfRank read_calls(const std::string &path) {
    const std::vector<std::uint64_t> words = read_words(path, "the report");
    return read_calls(std::as_bytes(std::span(words)), path);
}

} // namespace stretto::arrival

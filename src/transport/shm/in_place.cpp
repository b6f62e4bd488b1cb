// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/in_place.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "transport/shm/fault_guard.hpp"

namespace stretto::transport {

namespace {

constexpr const char *kRemedy = "STRETTO_XPMEM=off does not try it";

std::string process_of(const Segment &segment, int rank) {
    return segment.names().of(rank) + " (process " + std::to_string(segment.process(rank)) + ")";
}

bool ended(const Segment &segment, int rank) {
    const int process = segment.process(rank);
    return segment.presence(rank) == Presence::dead ||
           (process != 0 && kill(process, 0) != 0 && errno == ESRCH);
}

// Why the word of `rank` cannot be read in place; "" if it can.
std::string why_not(const Segment &segment, Attachments &attachments, int rank) {
    const LineBlock &line = segment.lines(rank);
    const std::byte *at = nullptr;
    try {
        at = attach_memory(segment, attachments, rank, line.word_at.load(std::memory_order_acquire),
                           sizeof(std::uint64_t));
    } catch (const Error &error) {
        return error.what();
    }
    std::uint64_t found = 0;
    const void *const from = at;
    const bool there = guarded({&from, 1, sizeof found},
                               [&] { std::memcpy(&found, from, sizeof found); }) == kNoRead;
    if (!there || found != line.word.load(std::memory_order_relaxed))
        return "what is attached by XPMEM is not the memory of " + process_of(segment, rank);
    return "";
}

// The rank that says that others have not offered their memory, so that only one does.
bool first_that_offers(const Segment &segment, int rank) {
    for (int lower = 0; lower < rank; ++lower)
        if (segment.here(lower) && segment.lines(lower).xpmem.load(std::memory_order_relaxed) != 0)
            return false;
    return true;
}

std::pair<InPlace, std::string> tried(const Segment &segment, int rank) {
    if (segment.lines(rank).xpmem.load(std::memory_order_relaxed) == 0)
        return {InPlace::refused, ""}; // it has said why
    for (int peer = 0; peer < segment.ranks(); ++peer)
        if (segment.here(peer) && segment.lines(peer).xpmem.load(std::memory_order_acquire) == 0)
            return {InPlace::refused,
                    first_that_offers(segment, rank)
                        ? segment.names().of(peer) +
                              " does not offer its memory: it has said why, or STRETTO_XPMEM is "
                              "not 'on' there"
                        : ""};
    install_fault_guard();
    const bool follows = attachments_follow();
    Attachments attachments(xpmem(), segment.ranks(), follows);
    for (int peer = 0; peer < segment.ranks(); ++peer) {
        if (!segment.here(peer) || peer == rank)
            continue;
        if (std::string why = why_not(segment, attachments, peer); !why.empty())
            return {InPlace::refused, std::move(why)};
        attachments.end_step();
    }
    return {follows ? InPlace::kept : InPlace::for_a_step, ""};
}

} // namespace

std::string offer_in_place(Segment &segment, int rank) {
    try {
        segment.lines(rank).xpmem.store(own_segment(), std::memory_order_release);
        return "";
    } catch (const Error &error) {
        return std::string(error.what()) + "; install XPMEM and load its module; " + kRemedy;
    }
}

std::string try_in_place(Segment &segment, int rank, bool wanted) {
    auto [found, why] = wanted ? tried(segment, rank) : std::pair{InPlace::refused, std::string()};
    segment.lines(rank).in_place.store(static_cast<std::uint32_t>(found),
                                       std::memory_order_release);
    return why;
}

InPlace in_place_on_host(const Segment &segment) {
    auto least = InPlace::kept;
    for (int rank = 0; rank < segment.ranks(); ++rank)
        if (segment.here(rank))
            least = std::min(least, static_cast<InPlace>(segment.lines(rank).in_place.load(
                                        std::memory_order_acquire)));
    return least;
}

const std::byte *attach_memory(const Segment &segment, Attachments &attachments, int rank,
                               std::uint64_t address, std::size_t bytes) {
    const std::int64_t its = segment.lines(rank).xpmem.load(std::memory_order_acquire);
    if (const std::byte *const at = attachments.find(rank, its, address, bytes))
        return at;
    const int why = errno;
    if (ended(segment, rank))
        throw Error(Status::peer, process_of(segment, rank) + " has died");
    throw Error(Status::system, "cannot attach " + std::to_string(bytes) +
                                    " bytes in the memory of " + process_of(segment, rank) + ": " +
                                    std::strerror(why) + " (XPMEM); " + kRemedy);
}

Error memory_gone(const Segment &segment, int rank) {
    return {Status::peer, process_of(segment, rank) +
                              " has died; or its buffer was unmapped during the call, or is memory "
                              "of a device (XPMEM found no page); for such buffers set "
                              "STRETTO_XPMEM=off"};
}

} // namespace stretto::transport

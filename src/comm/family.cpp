// SPDX-License-Identifier: BSD-3-Clause
#include "comm/family.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "base/mix.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::comm {

namespace {

// Gives a function that throws if ranks of the parent will not come, to be called during a wait for
// them.  It holds the parent's segment, not the parent: the wait may be on another thread.
std::function<void()> watch(const Communicator &parent, const std::vector<int> &ranks,
                            const std::string &call) {
    return [segment = parent.segment(), me = parent.rank(), ranks, call] {
        transport::make_progress(*segment); // receives what other hosts have sent
        if (segment->failed())
            throw segment->failure();
        // Lists all ranks that are gone: some may only have given up a wait for the others.
        std::string gone;
        for (const int rank : ranks) {
            if (rank == me)
                continue;
            const transport::Presence presence = segment->presence(rank);
            if (presence != transport::Presence::here)
                gone += segment->names().of(rank) + " " + words(presence) + "; ";
        }
        if (!gone.empty())
            throw Error(Status::peer, gone + segment->names().of(me) + " in " + call +
                                          " waited for all of " + std::to_string(ranks.size()) +
                                          " ranks");
    };
}

// All `ranks` of the parent know the text `agreed`, and children of this parent that are made at
// the same time have different ones.
Child child(const Communicator &parent, std::vector<int> ranks, const std::string &agreed,
            const std::string &call) {
    const std::string key = std::to_string(parent.segment()->header().key);
    Child result = child_of(parent, std::move(ranks), agreed, key + " " + agreed, call);
    result.origin.watch = watch(parent, result.ranks, call);
    return result;
}

// A number for a list of ranks: all ranks compute the same one from the same list.
std::uint64_t fingerprint(std::span<const int> ranks) {
    std::uint64_t hash = ranks.size();
    for (const int rank : ranks)
        hash = mix(hash, static_cast<std::uint64_t>(rank));
    return hash;
}

} // namespace

std::optional<Child> split(Communicator &parent, int color, int key) {
    struct Entry {
        std::int64_t color, key;
    };
    std::vector<Entry> entries;
    parent.together([&] { entries.resize(static_cast<std::size_t>(parent.size())); });
    const Entry mine{color, key};
    const std::uint64_t call = parent.play(
        {schedule::Collective::allgather, &mine, entries.data(), 2, Dtype::i64, ReduceOp::sum, 0});
    if (color == kNoColor)
        return std::nullopt;
    return parent.together([&] {
        std::vector<int> ranks;
        for (int rank = 0; rank < parent.size(); ++rank)
            if (entries[static_cast<std::size_t>(rank)].color == color)
                ranks.push_back(rank);
        std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
            return entries[static_cast<std::size_t>(a)].key <
                   entries[static_cast<std::size_t>(b)].key;
        });
        return child(parent, std::move(ranks),
                     "split " + std::to_string(call) + " color " + std::to_string(color),
                     "stretto_comm_split");
    });
}

Child duplicate(Communicator &parent) {
    const std::uint64_t call = parent.barrier();
    return parent.together([&] {
        std::vector<int> ranks(static_cast<std::size_t>(parent.size()));
        std::iota(ranks.begin(), ranks.end(), 0);
        Child result =
            child(parent, std::move(ranks), "dup " + std::to_string(call), "stretto_comm_dup");
        result.same_policy = true;
        return result;
    });
}

// An error in one member's list is that member's error alone.
static void check_list(const Communicator &parent, std::span<const int> ranks) {
    std::vector<bool> listed(static_cast<std::size_t>(parent.size()));
    for (const int rank : ranks) {
        if (rank < 0 || rank >= parent.size())
            throw Error(Status::argument, "rank " + std::to_string(rank) +
                                              " is no rank of a communicator of " +
                                              std::to_string(parent.size()));
        if (listed[static_cast<std::size_t>(rank)])
            throw Error(Status::argument,
                        "rank " + std::to_string(rank) + " is in the list of ranks twice");
        listed[static_cast<std::size_t>(rank)] = true;
    }
    if (!listed[static_cast<std::size_t>(parent.rank())])
        throw Error(Status::argument, "this rank, " + std::to_string(parent.rank()) +
                                          ", is not in the list of ranks; only those in it call");
}

Child group(Communicator &parent, std::span<const int> ranks, int tag) {
    return parent.together([&] {
        check_list(parent, ranks);
        if (parent.segment()->failed())
            throw parent.segment()->failure();
        return child(parent, {ranks.begin(), ranks.end()},
                     "group " + std::to_string(fingerprint(ranks)) + " tag " + std::to_string(tag),
                     "stretto_comm_create");
    });
}

} // namespace stretto::comm

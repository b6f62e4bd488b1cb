// SPDX-License-Identifier: BSD-3-Clause
#include "matching/patterns.hpp"

#include <algorithm>

#include "base/status.hpp"

namespace stretto::matching {

namespace {

using p2p::Envelope;
using p2p::kAny;
using Envelopes = std::vector<Envelope>;

// `depth` messages of each of the first `peers` peers.  Their tags are 0, 1, 2, ...: all different.
Envelopes exchange(const Writer &writer, int peers) {
    Envelopes all;
    for (int d = 0; d < writer.depth(); ++d)
        for (int peer = 0; peer < peers; ++peer)
            all.push_back({0, peer, d * peers + peer});
    return all;
}

Envelopes exchange(const Writer &writer) {
    return exchange(writer, writer.peers());
}

// The first receive fits each message.
void write_in_order(Writer &writer) {
    while (writer.begin_round()) {
        const Envelopes all = exchange(writer);
        writer.post_all(all);
        writer.arrive_all(all);
    }
}

// The last receive fits each message: the most that a list can have to look at.
void write_reverse(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes all = exchange(writer);
        writer.post_all(all);
        std::reverse(all.begin(), all.end());
        writer.arrive_all(all);
    }
}

void write_random(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes all = exchange(writer);
        writer.post_all(all);
        writer.shuffle(all);
        writer.arrive_all(all);
    }
}

// Peer 0 sends `depth` messages for each peer there is, all with one tag, and they come last.
// Receives for them stand before those for the other peers; what has them in one chain, and others
// as well, looks at all of them for each message of the others.
void write_hot_tag(Writer &writer) {
    while (writer.begin_round()) {
        const Envelopes hot(static_cast<std::size_t>(writer.peers() * writer.depth()),
                            Envelope{0, 0, 0});
        Envelopes others;
        for (int peer = 1; peer < writer.peers(); ++peer)
            others.push_back({0, peer, peer});
        writer.post_all(hot);
        writer.post_all(others);
        writer.shuffle(others);
        writer.arrive_all(others);
        writer.arrive_all(hot);
    }
}

// All peers send with one tag: tags tell nothing, sources do.
void write_one_tag(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes all = exchange(writer);
        for (Envelope &each : all)
            each.tag = 0;
        writer.post_all(all);
        writer.shuffle(all);
        writer.arrive_all(all);
    }
}

// A gather to one root, `depth` of them at the same time.  The root posts its receives in order of
// ranks, and about half of the messages come before that.
void write_incast(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes early, late, all = exchange(writer);
        for (int i = 0; i < static_cast<int>(all.size()); ++i) {
            Envelope &each = all[static_cast<std::size_t>(i)];
            each.tag = i / writer.peers(); // the number of the gather
            (writer.below(2) == 0 ? early : late).push_back(each);
        }
        writer.shuffle(early);
        writer.shuffle(late);
        writer.arrive_all(early);
        writer.post_all(all);
        writer.arrive_all(late);
    }
}

// Every fourth receive takes work of any source, by a tag that work alone has.
void write_any_source(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes have = exchange(writer), wanted = have;
        const auto work = static_cast<int>(have.size());
        for (std::size_t i = 0; i < have.size(); i += 4) {
            have[i].tag = wanted[i].tag = work;
            wanted[i].source = kAny;
        }
        writer.post_all(wanted);
        writer.shuffle(have);
        writer.arrive_all(have);
    }
}

// Receives from every fourth peer take any tag.
void write_any_tag(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes have = exchange(writer), wanted = have;
        for (Envelope &each : wanted)
            if (each.source % 4 == 0)
                each.tag = kAny;
        writer.post_all(wanted);
        writer.shuffle(have);
        writer.arrive_all(have);
    }
}

// Three of eight receives take any source, any tag, or both; two contexts; receives are posted
// while messages arrive.  Such a receive takes messages that another one names, so some receives
// are left over, and as many messages.  The receives are withdrawn, and the messages are received.
void write_wildcards(Writer &writer) {
    while (writer.begin_round()) {
        Envelopes have = exchange(writer), wanted = have;
        for (std::size_t i = 0; i < have.size(); ++i) {
            have[i].context = wanted[i].context = static_cast<std::uint32_t>(i % 2);
            const int form = writer.below(8);
            if (form == 0 || form == 2)
                wanted[i].source = kAny;
            if (form == 1 || form == 2)
                wanted[i].tag = kAny;
        }
        writer.shuffle(have);
        std::size_t posted = 0, arrived = 0;
        while (posted < wanted.size() || arrived < have.size()) {
            const bool posts = arrived == have.size() || writer.below(2) == 0;
            if (posts && posted < wanted.size())
                writer.post(wanted[posted++]);
            else if (arrived < have.size())
                writer.arrive(have[arrived++]);
        }
        while (!writer.model().posted().empty())
            writer.withdraw(writer.model().posted().front().number);
        while (!writer.model().arrived().empty())
            writer.post({writer.model().arrived().front().envelope.context, kAny, kAny});
    }
}

// All messages come before the first receive, which are then posted in order of ranks.  Before
// every eighth one the program probes for its message.
void write_flood(Writer &writer) {
    while (writer.begin_round()) {
        const Envelopes all = exchange(writer);
        Envelopes have = all;
        writer.shuffle(have);
        writer.arrive_all(have);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % 8 == 0)
                writer.find(all[i]);
            writer.post(all[i]);
        }
    }
}

// 1, 2, 4, ... peers and all, then as few again: one round.  Each time a receive per 16 peers waits
// in vain and is withdrawn.
void write_grow_shrink(Writer &writer) {
    std::vector<int> active;
    for (int peers = 1; peers < writer.peers(); peers *= 2)
        active.push_back(peers);
    std::vector<int> steps = active;
    steps.push_back(writer.peers());
    steps.insert(steps.end(), active.rbegin(), active.rend());
    while (writer.begin_round())
        for (const int peers : steps) {
            Envelopes all = exchange(writer, peers);
            std::vector<std::int32_t> in_vain;
            for (std::size_t i = 0; i < all.size(); ++i) {
                writer.post(all[i]);
                if (i % 16 == 0) // a tag that no message has
                    in_vain.push_back(writer.post({0, all[i].source, peers * writer.depth()}));
            }
            writer.shuffle(all);
            writer.arrive_all(all);
            for (const std::int32_t receive : in_vain)
                writer.withdraw(receive);
        }
}

constexpr Pattern kPatterns[] = {
    {"in-order", "messages arrive in the order of their receives", write_in_order},
    {"reverse", "messages arrive in the reverse order of their receives", write_reverse},
    {"random", "messages arrive in any order", write_random},
    {"hot-tag", "receives for many messages of one peer and tag stand before all others",
     write_hot_tag},
    {"one-tag", "all peers send with the same tag", write_one_tag},
    {"incast", "gathers to one root; half of the messages arrive before their receives",
     write_incast},
    {"hpcg", "a halo exchange with the 26 neighbours of a block, one tag", write_hpcg},
    {"miniamr", "a halo exchange of several blocks with each neighbour, refined now and then",
     write_miniamr},
    {"any-source", "every fourth receive is from any source", write_any_source},
    {"any-tag", "receives from every fourth peer are for any tag", write_any_tag},
    {"wildcards", "any source, any tag and both among others, which they overlap", write_wildcards},
    {"flood", "all messages arrive before their receives", write_flood},
    {"grow-shrink", "from one peer to all and back, some receives withdrawn", write_grow_shrink},
};
constexpr int kMostPeers = 4096, kMostDepth = 64;

void require(const char *name, int value, int most) {
    if (value < 1 || value > most)
        throw Error(Status::argument, std::string(name) + ": " + std::to_string(value) +
                                          " is not from 1 to " + std::to_string(most));
}

} // namespace

std::span<const Pattern> patterns() {
    return kPatterns;
}

Sequence make_sequence(const std::string &pattern, const Shape &shape) {
    require("peers", shape.peers, kMostPeers);
    require("depth", shape.depth, kMostDepth);
    for (const Pattern &each : kPatterns)
        if (each.name == pattern) {
            Writer writer(shape);
            each.write(writer);
            return writer.finish();
        }
    throw Error(Status::argument, "there is no pattern '" + pattern + "'");
}

} // namespace stretto::matching

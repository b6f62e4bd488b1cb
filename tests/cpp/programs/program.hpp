// SPDX-License-Identifier: BSD-3-Clause
// Random programs: what every rank calls, legal for all of them together.
//
// A program is drawn from a seed alone, so every rank draws the same.  What may differ between
// ranks (the order in which requests are waited for, in which messages are posted) each rank draws
// for itself while it plays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/exact.hpp"
#include "support/oracle.hpp"

namespace test {

using Random = std::mt19937_64;

inline int draw(Random &random, int below) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(below));
}

// The ranks of a communicator, by their numbers in the world, in the order of their numbers in it.
using Group = std::vector<int>;
// A split makes several at once; each rank is in one of them.
using Groups = std::vector<Group>;

struct Message {
    int from = 0, to = 0; // in the world, of one group
    int tag = 0;
    std::size_t bytes = 0;
    bool wildcard = false; // the receiver takes any source
};

enum class Kind {
    collective, // blocking or not
    messages,   // sends and receives, all posted, then waited for sooner or later
    split,      // a new communicator
    threads,    // a program for each of several threads, each on a communicator of its own
};

struct Step {
    Kind kind = Kind::collective;
    std::size_t comm = 0; // which communicator
    bool nonblocking = false;
    // Collective; of the root the remainder by the size of the group counts, of the counts as many
    // as it has ranks.
    Call call;
    std::vector<Message> messages;
    std::vector<int> colors, keys;           // split: by rank of the world
    std::vector<std::vector<Step>> programs; // threads
};

// What goes wrong, on one rank.
struct Fault {
    enum class What { count, dtype, op, root, collective, death, data } what = What::death;
    std::size_t step = 0;
    int rank = 0;
};

inline const char *name(Fault::What what) {
    constexpr const char *names[] = {"count", "dtype", "op", "root", "collective", "death", "data"};
    return names[static_cast<int>(what)];
}

struct Program {
    int ranks = 1;
    std::vector<Step> steps;
    std::vector<Groups> comms; // by number; 0 is the world
    std::optional<Fault> fault;
};

class Author {
public:
    static constexpr int kMostRanks = 6;

    explicit Author(std::uint64_t seed) : random_(seed) {}

    Program write() {
        Program program;
        program.ranks = 1 + draw(random_, kMostRanks);
        program.comms.push_back({Group()});
        for (int rank = 0; rank < program.ranks; ++rank)
            program.comms[0][0].push_back(rank);
        const int steps = 4 + draw(random_, 16);
        for (int i = 0; i < steps; ++i)
            program.steps.push_back(step(program));
        return program;
    }

    // Something that somebody must notice: on a communicator of at least two ranks.
    void plant(Program &program) {
        std::vector<Fault> candidates;
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step &step = program.steps[i];
            for (const Group &group : program.comms[step.comm])
                for (const int rank : group)
                    if (group.size() > 1)
                        append(candidates, step, i, rank);
        }
        if (!candidates.empty())
            program.fault = candidates[random_() % candidates.size()];
    }

private:
    static constexpr Collective kCollectives[] = {Collective::allreduce, Collective::allreduce,
                                                  Collective::reduce,    Collective::broadcast,
                                                  Collective::barrier,   Collective::reduce_scatter,
                                                  Collective::allgather, Collective::gather,
                                                  Collective::scatter,   Collective::alltoall};

    bool chance(int percent) { return draw(random_, 100) < percent; }

    Step step(Program &program) {
        const int what = draw(random_, 100);
        const std::size_t comm = random_() % program.comms.size();
        if (what < 12 && program.comms.size() < 5)
            return split(program, comm);
        if (what < 30)
            return messages(program.comms[comm], comm);
        if (what < 36)
            return threads(program, comm);
        return collective(comm);
    }

    Step collective(std::size_t comm) {
        constexpr std::size_t counts[] = {0, 1, 2, 3, 7, 64, 257, 1009, 5003, 40009};
        Step step;
        step.comm = comm;
        step.nonblocking = chance(40);
        const auto [dtype, op] = pairs()[random_() % pairs().size()];
        step.call.collective = kCollectives[random_() % std::size(kCollectives)];
        step.call.count =
            step.call.collective == Collective::barrier ? 0 : counts[random_() % std::size(counts)];
        if (takes_counts(step.call.collective) && chance(30))
            for (int rank = 0; rank < kMostRanks; ++rank)
                step.call.counts.push_back(counts[random_() % (std::size(counts) - 1)]);
        step.call.dtype = dtype;
        step.call.op = op;
        step.call.root = draw(random_, 64);
        step.call.in_place = chance(30);
        step.call.shared = chance(20);
        step.call.send_offset = chance(20) ? 4 * random_() % 64 : 0;
        step.call.recv_offset = chance(20) ? 4 * random_() % 64 : 0;
        step.call.salt = random_() % 1000;
        return step;
    }

    Step messages(const Groups &groups, std::size_t comm) {
        constexpr std::size_t sizes[] = {0, 1, 100, 4096, 20011, 300007};
        Step step;
        step.kind = Kind::messages;
        step.comm = comm;
        for (const Group &group : groups) {
            const int n = draw(random_, 12);
            for (int i = 0; i < n; ++i) {
                Message message;
                message.from = group[random_() % group.size()];
                message.to = group[random_() % group.size()];
                message.tag = tag_++; // no two alike: so a wildcard for the source has one answer
                message.bytes = sizes[random_() % std::size(sizes)];
                message.wildcard = chance(25);
                step.messages.push_back(message);
            }
        }
        return step;
    }

    Step split(Program &program, std::size_t comm) {
        Step step;
        step.kind = Kind::split;
        step.comm = comm;
        const int colors = 1 + draw(random_, 3);
        for (int rank = 0; rank < program.ranks; ++rank) {
            step.colors.push_back(draw(random_, colors));
            step.keys.push_back(draw(random_, 3));
        }
        Groups made;
        for (const Group &group : program.comms[comm])
            for (int color = 0; color < colors; ++color) {
                Group members;
                for (const int rank : group)
                    if (step.colors[static_cast<std::size_t>(rank)] == color)
                        members.push_back(rank);
                std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
                    return step.keys[static_cast<std::size_t>(a)] <
                           step.keys[static_cast<std::size_t>(b)];
                });
                if (!members.empty())
                    made.push_back(members);
            }
        program.comms.push_back(made);
        return step;
    }

    Step threads(const Program &program, std::size_t comm) {
        Step step;
        step.kind = Kind::threads;
        step.comm = comm;
        step.programs.resize(2 + random_() % 2);
        for (std::vector<Step> &steps : step.programs)
            for (int i = 2 + draw(random_, 4); i > 0; --i)
                steps.push_back(chance(25) ? messages(program.comms[comm], comm)
                                           : collective(comm));
        return step;
    }

    static void append(std::vector<Fault> &candidates, const Step &step, std::size_t i, int rank) {
        using What = Fault::What;
        candidates.push_back({What::death, i, rank});
        if (step.kind != Kind::collective)
            return;
        const Collective what = step.call.collective;
        if (what != Collective::barrier)
            candidates.push_back({What::count, i, rank});
        if (what != Collective::barrier)
            candidates.push_back({What::dtype, i, rank});
        if (reduces(what))
            candidates.push_back({What::op, i, rank});
        if (rooted(what))
            candidates.push_back({What::root, i, rank});
        candidates.push_back({What::collective, i, rank});
    }

    Random random_;
    int tag_ = 0;
};

} // namespace test

// SPDX-License-Identifier: BSD-3-Clause
// SALaR: the vector in chunks; while the leaders of hosts exchange one chunk, the other ranks of
// each host reduce the next.
//
// Source: Bayatpour et al., "SALaR: scalable and adaptive designs for large message reduction
// collectives", CLUSTER 2018.
//
//   leader    the first rank of a host; all that it computes is its part of the exchange
//   chunk i   one of I chunks of the vector; host h owns 1 / n of each, in K segments
//   piece     a segment is cut into pieces where that is needed to share it out evenly among the
//             ranks that reduce
//
//   reduce      each rank but the leader reduces its share of the chunk, of all ranks of its host
//   collect     the leader takes the shares
//   exchange    for each segment: the owner's leader takes it from the leader of every host,
//               reduces it, and gives the result to every leader.  Leader g begins with host g + 1,
//               so that no two send to one host at once
//   distribute  the leader gives the chunk to the ranks of its host
//
//   chunk 0     reduce collect | exchange       | distribute     |
//   chunk 1                    | reduce collect | exchange       | distribute
//   chunk 2                    |                | reduce collect | exchange    ...
//
// A rank of a host of its own has nothing to reduce or distribute.
//
// Steps     5 for a chunk, which overlap those of the chunks beside it
// Bytes     between hosts a host sends and receives 2 (n - 1) / n m, the least possible; inside, a
//           leader of p ranks takes m and gives m, which p - 1 ranks read
// Good for long vectors, on hosts with several ranks and a core for each.  Any number of ranks, any
// hosts; without a topology all share one.  Operands stay in order where the ranks of a host are
// neighbours.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

using Shared = std::shared_ptr<const Schedule>;

OverHosts over(const Problem &problem) {
    return {problem, "direct", {&find(Collective::allreduce, "direct"), {}}, 1};
}

// Pieces of a segment: as few as divide a chunk evenly among the ranks that reduce, on every host,
// if that takes no more than there are such ranks on the host with the most.
Block pieces_of(const OverHosts &of, Block segments) {
    Position most = 1;
    for (Position host = 0; host < of.hosts(); ++host)
        most = std::max(most, of.size_of(host) - 1);
    for (Block pieces = 1; pieces < most; ++pieces) {
        bool even = true;
        for (Position host = 0; host < of.hosts(); ++host)
            even &= of.size_of(host) <= 2 ||
                    of.hosts() * segments * pieces % (of.size_of(host) - 1) == 0;
        if (even)
            return pieces;
    }
    return most;
}

class Salar {
public:
    explicit Salar(const Problem &problem)
        : of_(over(problem)), chunks_(parameter(problem, "chunks")),
          segments_(parameter(problem, "segments")), pieces_(pieces_of(of_, segments_)),
          to_owner_(flat(Collective::reduce_scatter, "direct", of_.hosts())),
          to_all_(flat(Collective::allgather, "direct", of_.hosts())) {
        // Hosts with as many ranks have the same.
        for (Position host = 0; host < of_.hosts(); ++host)
            if (const Position size = of_.size_of(host); size > 1 && !inside_.contains(size)) {
                std::vector<std::uint64_t> shares(static_cast<std::size_t>(size), 1);
                shares[0] = 0;
                inside_[size] = {flat(Collective::reduce_scatter, "direct", size, shares),
                                 flat(Collective::gather, "linear", size, shares),
                                 flat(Collective::broadcast, "linear", size)};
            }
    }

    Schedule make(const Problem &problem) const {
        std::vector<Stage> stages;
        for (Block now = 0; now < chunks_ + 2; ++now) {
            if (now < chunks_)
                reduce(stages, now);
            if (now >= 1 && now <= chunks_)
                exchange(stages, now - 1);
            if (now >= 2)
                distribute(stages, now - 2);
        }
        return compose(Collective::allreduce, problem,
                       Partition::even(chunks_).refine(of_.hosts()).refine(segments_ * pieces_),
                       asymmetric, std::move(stages));
    }

private:
    static Shared flat(Collective collective, std::string_view name, Position ranks,
                       std::vector<std::uint64_t> shares = {}) {
        return shared({&find(collective, name), {}}, ranks, 0, std::move(shares));
    }

    Blocks segment(Block chunk, Position owner, Block k) const {
        return consecutive(((chunk * of_.hosts() + owner) * segments_ + k) * pieces_, pieces_);
    }

    // A chunk in the order in which the leader of a host exchanges it.
    Blocks in_order(Block chunk, Position host) const {
        Blocks found;
        for (Block k = 0; k < segments_; ++k)
            for (Position ahead = 1; ahead <= of_.hosts(); ++ahead) {
                const Blocks next = segment(chunk, shifted(host, ahead, of_.hosts()), k);
                found.insert(found.end(), next.begin(), next.end());
            }
        return found;
    }

    // To the ranks of each host but the leader, dealt out in turn; from them to the leader.
    void reduce(std::vector<Stage> &stages, Block chunk) const {
        Stage reducing, collecting;
        for (Position host = 0; host < of_.hosts(); ++host) {
            const Position size = of_.size_of(host);
            if (size == 1)
                continue;
            std::vector<Blocks> own(static_cast<std::size_t>(size));
            Position next = 0;
            for (const Block block : in_order(chunk, host)) {
                own[static_cast<std::size_t>(next + 1)].push_back(block);
                next = shifted(next, 1, size - 1);
            }
            const Inside &parts = inside_.at(size);
            reducing.push_back({parts.reduce, of_.host(host), own});
            collecting.push_back({parts.collect, of_.host(host), std::move(own)});
        }
        stages.push_back(std::move(reducing));
        stages.push_back(std::move(collecting));
    }

    // While a segment goes to its owner, the one before goes to all.
    void exchange(std::vector<Stage> &stages, Block chunk) const {
        for (Block k = 0; k <= segments_; ++k) {
            if (k < segments_)
                stages.push_back(between_leaders(to_owner_, chunk, k));
            if (k > 0)
                stages.push_back(between_leaders(to_all_, chunk, k - 1));
        }
    }

    Stage between_leaders(const Shared &half, Block chunk, Block k) const {
        if (of_.hosts() == 1)
            return {};
        Part part{half, {}, {}};
        for (Position host = 0; host < of_.hosts(); ++host) {
            part.positions.push_back(of_.host(host).front());
            part.blocks.push_back(segment(chunk, host, k));
        }
        return {std::move(part)};
    }

    void distribute(std::vector<Stage> &stages, Block chunk) const {
        Stage &stage = stages.emplace_back();
        for (Position host = 0; host < of_.hosts(); ++host)
            if (const Position size = of_.size_of(host); size > 1)
                stage.push_back({flat(Collective::broadcast, "linear", size),
                                 of_.host(host),
                                 {in_order(chunk, host)}});
    }

    OverHosts of_;
    Block chunks_, segments_, pieces_;
    Shared to_owner_, to_all_; // the halves of an exchange
    struct Inside {
        Shared reduce, collect, distribute;
    };
    std::map<Position, Inside> inside_; // by the ranks of a host
};

bool order_preserving(const Problem &problem) {
    return over(problem).blocked();
}

bool canonical(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.cut_as_canonical() && of.blocked() && of.have<&Algorithm::canonical>();
}

} // namespace

Algorithm allreduce::salar() {
    return {.name = "salar",
            .collective = Collective::allreduce,
            .summary = "leaders exchange a chunk while the other ranks reduce the next",
            .source = "Bayatpour et al. 2018 (SALaR)",
            .parameters = {{.name = "chunks",
                            .fallback = 4,
                            .least = 1,
                            .most = 256,
                            .meaning = "pieces of the vector, reduced inside hosts one after "
                                       "another (the paper's I)"},
                           {.name = "segments",
                            .fallback = 1,
                            .least = 1,
                            .most = 64,
                            .meaning = "pieces of a chunk that a leader exchanges one after "
                                       "another (the paper's K)"},
                           level_parameter()},
            .runs = always,
            .order_preserving = order_preserving,
            .consistent = always,
            .canonical = canonical,
            .make = [](const Problem &problem) { return Salar(problem).make(problem); },
            .of_hosts = true};
}

} // namespace stretto::algorithms

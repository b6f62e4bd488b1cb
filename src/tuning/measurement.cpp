// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 measures with the lowest rank on another host and with the lowest other one on its own
// (survey.hpp), by calls of the engine as any other call is one.  What comes next depends on the
// times so far, which rank 0 alone knows; so it tells all ranks, by a broadcast, what they try
// next, with which rank.  The others make the calls of each probe as well, in which they have
// nothing to do, and wait for the next order.
//
// Since these are calls, what may happen is what may happen in any: a rank that dies or has no
// memory is the error of all of them.
#include "tuning/measurement.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
#include "base/types.hpp"
#include "net/sockets.hpp"
#include "reduce/kernels.hpp"
#include "tuning/pairs.hpp"
#include "tuning/survey.hpp"

namespace stretto::tuning {

namespace {

constexpr std::size_t kElementBytes = calls::kInternalElementBytes,
                      kSliceBytes = calls::kInternalSliceBytes;
// Seconds: after which no more is tried with one rank; what the link inside may take of them; and
// after which a thorough measurement turns to no other.
constexpr double kMostWithOneSeconds = 0.5, kMostInsideSeconds = 0.05, kMostThoroughSeconds = 20;
constexpr int kSurveys = 3; // of each pair, in turns, if it is to be thorough

double seconds_since(std::uint64_t ticks) {
    return static_cast<double>(now_ticks() - ticks) * ns_per_tick() * 1e-9;
}

// One block that `from` has, and in the end `to` as well.
schedule::Schedule one_way(int ranks, int from, int to) {
    schedule::Schedule made;
    made.name = "one_way";
    made.ranks = ranks;
    made.partition = schedule::Partition::even(1);
    const auto count = static_cast<std::size_t>(ranks);
    std::vector<std::optional<schedule::Atom>> start(count);
    std::vector<std::optional<schedule::Goal>> end(count);
    start[static_cast<std::size_t>(from)] = schedule::Atom{from, 0};
    end[static_cast<std::size_t>(to)] = schedule::Goal{0, from};
    made.contract = schedule::Contract::custom(ranks, 1, std::move(start), std::move(end));
    made.program = [=](schedule::Position position) {
        schedule::Program program;
        if (position == from)
            program.ops.push_back(schedule::send(to, {0}));
        if (position == to)
            program.ops.push_back(schedule::recv(from, {0}));
        return program;
    };
    return made;
}

// Seconds for a byte that is added to another, of floats in a cache.
double measure_reduction() {
    constexpr std::size_t kElements = 4096;
    constexpr int kRounds = 9, kPasses = 16;
    const reduce::Pass add = reduce::pass(Dtype::f32, ReduceOp::sum);
    std::vector<float> sum(kElements), more(kElements, 1e-30F);
    void *const out[] = {sum.data()};
    const void *const in[] = {sum.data(), more.data()};
    std::array<double, kRounds> times{};
    for (double &each : times) {
        const std::uint64_t start = now_ticks();
        for (int pass = 0; pass < kPasses; ++pass)
            add(out, 1, in, 2, kElements, 0);
        each = seconds_since(start);
    }
    return *std::min_element(times.begin(), times.end()) / (kPasses * kElements * sizeof(float));
}

std::string now_in_words() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    char text[64] = "";
    if (gmtime_r(&now, &parts) != nullptr)
        (void)std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text;
}

// What rank 0 tells all ranks, as bytes: what to try, with whom; and when there is nothing more to
// try between two ranks how often all of them exchange something.
struct Orders {
    Probe between, inside;
    std::int64_t peer = -1; // between hosts
    std::uint64_t gatherings = 0, over = 0;
};
static_assert(std::is_trivially_copyable_v<Orders> && sizeof(Orders) % kElementBytes == 0);

// Of rank 0 and another.
struct Pair {
    int peer = -1; // none
    Survey survey = {};
    double spent = 0; // seconds

    Probe next(double left) { return peer < 0 ? kNoProbe : survey.next(left); }
};

class Measurement {
public:
    Measurement(const transport::Segment &segment, int rank, Thoroughness how,
                calls::InternalCalls &calls)
        : segment_(segment), rank_(rank), calls_(calls), inside_{peers(true).front()} {
        std::vector<int> others = peers(false);
        if (how == Thoroughness::brief)
            others.resize(1);
        for (int survey = 0; survey < (how == Thoroughness::brief ? 1 : kSurveys); ++survey)
            for (const int peer : others)
                pairs_.push_back({peer});
    }

    select::Profile run() {
        const double reduction = rank_ == 0 ? measure_reduction() : 0;
        select::Profile profile;
        Orders orders;
        for (;;) {
            if (rank_ == 0) {
                orders = next();
                if (orders.over != 0) {
                    profile = found(reduction);
                    orders.gatherings = gatherings(profile);
                }
            }
            send_to_all(calls_, segment_.ranks(), "orders", &orders, sizeof orders);
            if (orders.over != 0)
                break;
            Pair &pair = rank_ == 0 ? pairs_[now_] : other_;
            pair.peer = static_cast<int>(orders.peer);
            attempt(orders.between, pair);
            attempt(orders.inside, inside_);
        }
        const double together = gather(orders.gatherings);
        if (rank_ == 0)
            profile.common = common(profile, together);
        return profile;
    }

private:
    // Of rank 0: the lowest other rank of its own host, or of each other host; -1: there is none.
    std::vector<int> peers(bool inside) const {
        const transport::Placement &placement = segment_.placement();
        std::set<int> hosts;
        std::vector<int> found;
        for (int rank = 1; rank < segment_.ranks(); ++rank)
            if ((placement.host_of(rank) == placement.host_of(0)) == inside &&
                hosts.insert(placement.host_of(rank)).second)
                found.push_back(rank);
        if (found.empty())
            found.push_back(-1);
        return found;
    }

    // Rank 0's: the first pair's survey, then that of the next one.
    Orders next() {
        for (;;) {
            const double left = kMostWithOneSeconds - seconds_since(start_);
            Orders orders;
            orders.peer = pairs_[now_].peer;
            orders.between = pairs_[now_].next(left);
            orders.inside = inside_.next(std::min(left, kMostInsideSeconds - inside_.spent));
            if (orders.between != kNoProbe || orders.inside != kNoProbe)
                return orders;
            if (now_ + 1 == pairs_.size() || seconds_since(begin_) > kMostThoroughSeconds) {
                orders.over = 1;
                return orders;
            }
            ++now_;
            start_ = now_ticks();
        }
    }

    void pass_on(int from, int to, std::size_t bytes, void *data) const {
        const int ranks = segment_.ranks();
        calls_.play(
            "one way, " + std::to_string(from) + " to " + std::to_string(to),
            [=] { return one_way(ranks, from, to); }, data, bytes);
    }

    // All ranks make these calls; to all but the two of the pair they are nothing.
    void attempt(const Probe &probe, Pair &pair) {
        if (rank_ == 0 || rank_ == pair.peer)
            data_.resize(std::max({kElementBytes, std::size_t{probe.large}, data_.size()}));
        const std::uint64_t start = now_ticks();
        // So many messages there, of so many bytes, and an element back.
        const auto time = [&](int messages, std::size_t bytes, std::vector<double> &seconds) {
            const std::uint64_t begin = now_ticks();
            for (int i = 0; i < messages; ++i)
                pass_on(0, pair.peer, bytes, data_.data());
            pass_on(pair.peer, 0, kElementBytes, data_.data());
            seconds.push_back(seconds_since(begin));
        };
        Times times;
        for (std::uint32_t i = 0; i < probe.pings; ++i)
            time(1, kElementBytes, times.pings);
        for (std::uint32_t i = 0; i < probe.lead; ++i)
            time(1, probe.large, times.lead);
        for (std::uint32_t i = 0; i < probe.rounds; ++i) {
            time(1, probe.small, times.small);
            time(1, probe.large, times.large);
        }
        for (std::uint32_t i = 0; i < probe.bursts; ++i)
            time(kBurstMessages, kElementBytes, times.bursts);
        pair.spent += seconds_since(start);
        pair.survey.took(probe, times);
    }

    // In which all ranks send as many short messages at the same time.
    schedule::Schedule gathering() const {
        return algorithms::make(algorithms::parse(schedule::Collective::allgather, "circulant"),
                                segment_.ranks());
    }

    cost::Price price(const select::Profile &profile) const {
        cost::Network topology{.host_of = {}, .inside = profile.inside, .between = profile.between};
        for (int rank = 0; rank < segment_.ranks(); ++rank)
            topology.host_of.push_back(segment_.placement().host_of(rank));
        topology.eager = kSliceBytes;
        return cost::price(gathering(), static_cast<std::size_t>(segment_.ranks()), kElementBytes,
                           kSliceBytes, topology);
    }

    // As many as a tenth of a second has room for, if they take what they should.
    std::uint64_t gatherings(const select::Profile &profile) const {
        constexpr double kMostTogetherSeconds = 0.1, kFewRounds = 3, kManyRounds = 16;
        return static_cast<std::uint64_t>(
            std::clamp(kMostTogetherSeconds / price(profile).seconds, kFewRounds, kManyRounds));
    }

    // Seconds of one: the lower quartile.  Others who use the processors, or ranks that have only
    // just been started, make some of so few take longer, and never less than they must.
    double gather(std::uint64_t times) const {
        std::vector<double> seconds;
        std::vector<std::byte> data(static_cast<std::size_t>(segment_.ranks()) * kElementBytes);
        for (std::uint64_t i = 0; i < times; ++i) {
            const std::uint64_t begin = now_ticks();
            calls_.play("gathering", [this] { return gathering(); }, data.data(), data.size());
            seconds.push_back(seconds_since(begin));
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds.empty() ? 0 : seconds[seconds.size() / 4];
    }

    // If all together take clearly longer than each by itself does, there is something that they
    // share, and every message has its part of it; else 0.
    double common(const select::Profile &profile, double together) const {
        constexpr double kClearlyFactor = 1.5;
        const cost::Price alone = price(profile);
        if (together <= alone.seconds * kClearlyFactor || alone.pieces == 0)
            return 0;
        const transport::SegmentHeader &job = segment_.header();
        const double waiting = job.one_machine != 0 && job.cores < job.ranks
                                   ? cost::waiting_share(job.cores) * alone.seconds
                                   : 0;
        return std::min((together - waiting) / alone.pieces, select::kOverheads.most);
    }

    select::Profile found(double reduction) const {
        select::Profile profile;
        std::vector<Surveyed> surveys;
        for (std::size_t i = 0; i <= now_; ++i) {
            std::string how;
            const cost::Link link = pairs_[i].survey.link(profile.between, kSliceBytes, how);
            surveys.push_back({pairs_[i].peer, segment_.place(pairs_[i].peer), link, how});
        }
        profile.between = of_pairs(surveys, profile.between, profile.how_between);
        if (inside_.peer >= 0) {
            profile.inside = inside_.survey.link(profile.inside, kSliceBytes, profile.how_inside);
            profile.how_inside += ", with rank " + std::to_string(inside_.peer);
        } else {
            profile.how_inside = "assumed: rank 0 is alone on its host";
        }
        if (select::kReductions.hold(reduction))
            profile.inside.reduce = profile.between.reduce = reduction;
        profile.host = net::host_name();
        profile.date = now_in_words();
        profile.source = "measured by rank 0 on " + profile.host + ", " + profile.date;
        return profile;
    }

    const transport::Segment &segment_;
    const int rank_;
    calls::InternalCalls &calls_;
    std::vector<Pair> pairs_; // between hosts, as rank 0 takes them in turn
    std::size_t now_ = 0;     // which it is at
    const std::uint64_t begin_ = now_ticks();
    std::uint64_t start_ = begin_; // of this one
    Pair other_;                   // as ranks other than 0 see it
    Pair inside_;
    std::vector<std::byte> data_;
};

} // namespace

void send_to_all(calls::InternalCalls &calls, int ranks, const char *name, void *data,
                 std::size_t bytes) {
    calls.play(
        name,
        [ranks] {
            return algorithms::make(algorithms::parse(schedule::Collective::broadcast, "binomial"),
                                    ranks);
        },
        data, bytes);
}

select::Profile measure_network(const transport::Segment &segment, int rank, Thoroughness how,
                                calls::InternalCalls &calls) {
    return Measurement(segment, rank, how, calls).run();
}

} // namespace stretto::tuning

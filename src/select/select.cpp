// SPDX-License-Identifier: BSD-3-Clause
#include "select/select.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <numeric>
#include <span>

#include "base/status.hpp"
#include "select/candidates.hpp"
#include "select/correction.hpp"
#include "select/rules.hpp"
#include "select/tuning_candidates.hpp"

namespace stretto::select {

using algorithms::Algorithm;
using schedule::Collective;

namespace {

constexpr std::array<std::string_view, 3> kModes{"off", "run", "full"};

} // namespace

std::string_view name(Reproducible mode) {
    return kModes[static_cast<std::size_t>(mode)];
}

Reproducible reproducible_named(std::string_view name) {
    if (name.empty())
        return Reproducible::off;
    const auto found = std::find(kModes.begin(), kModes.end(), name);
    if (found == kModes.end())
        throw Error(Status::argument,
                    "the reproducible mode (STRETTO_REPRODUCIBLE or set_reproducible) is '" +
                        std::string(name) + "'; off, run and full exist");
    return static_cast<Reproducible>(found - kModes.begin());
}

schedule::Topology topology_of(const Situation &s) {
    if (s.hosts <= 1) {
        const std::vector<std::int32_t> one(s.cache_of.size(), 0);
        return schedule::Topology(one, s.cache_of);
    }
    std::vector<std::int32_t> host_of(s.host_of.begin(), s.host_of.end());
    if (host_of.empty()) {
        host_of.resize(static_cast<std::size_t>(s.ranks));
        std::iota(host_of.begin(), host_of.end(), 0);
    }
    return schedule::Topology(host_of);
}

bool crowds_one_machine(const Situation &s) {
    return s.hosts > 1 && s.one_machine && s.cores < static_cast<unsigned>(s.ranks);
}

bool shared_hosts(const Situation &s) {
    return s.hosts > 1 && !s.host_of.empty();
}

algorithms::Problem problem_of(const algorithms::Choice &choice, const Situation &s) {
    return algorithms::problem_of(choice, s.ranks, s.root, {},
                                  choice.algorithm->of_hosts ? topology_of(s)
                                                             : schedule::Topology());
}

schedule::Schedule make(const algorithms::Choice &choice, const Situation &s) {
    return algorithms::make(choice, s.ranks, s.root, {},
                            choice.algorithm->of_hosts ? topology_of(s) : schedule::Topology());
}

std::string obstacle(const algorithms::Choice &choice, const Situation &s) {
    const Algorithm &algorithm = *choice.algorithm;
    const algorithms::Problem problem = problem_of(choice, s);
    if (const std::string why = algorithms::misfit(choice, problem); !why.empty())
        return why;
    if (!s.equal_shares && !algorithm.unequal_shares)
        return "cannot run with unequal shares";
    if (!reduces(s.collective))
        return "";
    if (!s.commutative && !algorithm.order_preserving(problem))
        return "does not keep the order of ranks, which this operation needs";
    if (s.consistent && !algorithm.consistent(problem))
        return "does not give all ranks the same bits";
    if (s.reproducible != Reproducible::off && algorithm.by_arrival)
        return "depends on the order of arrival, which mode " + std::string(name(s.reproducible)) +
               " rules out";
    if (s.reproducible == Reproducible::full && !algorithm.canonical(problem))
        return "is not the canonical tree at " + std::to_string(s.ranks) +
               " ranks, which mode full needs";
    return "";
}

std::string unoffered(const algorithms::Choice &choice, const Situation &s) {
    if (choice.algorithm->of_hosts && !shared_hosts(s))
        return "composes nothing where hosts have one rank each, or all share one";
    const std::string why = obstacle(choice, s);
    if (why.empty() && choice.algorithm->sorted_by_arrival)
        return "is for ranks whose arrival is known";
    return why;
}

std::vector<std::string_view> able(const Situation &s) {
    std::vector<std::string_view> names;
    for (const Algorithm &each : algorithms::all())
        if (each.collective == s.collective && unoffered({&each, {}}, s).empty())
            names.push_back(each.name);
    return names;
}

namespace {

// Prices closer than this count as equal.  Among candidates with equal prices, the measured rule
// chooses.
constexpr double kToleranceFactor = 1.02;

[[noreturn]] void refuse(const Situation &s) {
    throw Error(Status::unsupported, "no algorithm can run this " +
                                         std::string(schedule::name(s.collective)) + " on " +
                                         std::to_string(s.ranks) + " ranks");
}

// The choice of the measured rule, without prices.
Choice by_rule(const Situation &s) {
    const std::vector<std::string_view> names = able(s);
    const Rule preferred = rule(s);
    std::string why = preferred.why;
    for (const std::string_view name : preferred.names) {
        if (std::find(names.begin(), names.end(), name) != names.end())
            return {std::string(name), why};
        if (!name.empty())
            why.append("; ").append(name).append(" ").append(
                obstacle({&algorithms::find(s.collective, name), {}}, s));
    }
    if (names.empty())
        refuse(s);
    return {std::string(names.front()), "no rule yet: the first that can run"};
}

// The prices of candidates, and the choice, if ranks are on several hosts.
struct Verdicts {
    std::vector<Priced> all;
    const Priced *cheapest = nullptr, *chosen = nullptr;
    std::string why;
    std::vector<Correction> corrections = {}; // of the prices; empty: nothing was measured

    // Whether the choice and another candidate were measured near this size: then trials would add
    // nothing.
    bool settled() const {
        const auto measured = [](const Correction &each) { return each.measured; };
        return !corrections.empty() &&
               corrections[static_cast<std::size_t>(chosen - all.data())].measured &&
               std::ranges::count_if(corrections, measured) > 1;
    }
};

const Priced *cheapest_of(const std::vector<Priced> &all) {
    const Priced *least = nullptr;
    for (const Priced &each : all)
        if (each.excluded.empty() &&
            (least == nullptr || each.price.seconds < least->price.seconds))
            least = &each;
    return least;
}

// The first algorithm of the rule that can run the call, or null.  If prices come from measured
// times
// (`by_times`), no candidate may be cheaper by more than kToleranceFactor.
const Priced *best_by_rule(const Rule &rule, const Verdicts &v, bool by_times) {
    const double most = v.cheapest->price.seconds * kToleranceFactor;
    for (const std::string_view name : rule.names)
        for (const Priced &each : v.all)
            if (each.name == name && each.excluded.empty() &&
                (!by_times || (rule.holds && each.price.seconds <= most)))
                return &each;
    return nullptr;
}

Verdicts judge(const Situation &exact) {
    Situation s = exact;
    s.bytes = (size_class(s.bytes) + s.element - 1) / s.element * s.element;
    // A correction may make an expensive candidate cheap, so more of them are priced.
    constexpr double kWithinCorrectedFactor = 10;
    Effort effort = kQuick;
    if (!s.profile.calls.empty())
        effort.within = kWithinCorrectedFactor;
    Verdicts v{.all = priced(s, effort), .why = {}};
    const Priced *const by_price = cheapest_of(v.all);
    if (by_price == nullptr) { // so many ranks that none was priced
        const Choice choice = by_rule(s);
        v.why = choice.why;
        v.chosen = v.cheapest = &*std::ranges::find(v.all, choice.algorithm, &Priced::name);
        return v;
    }
    v.corrections = corrections(s, v.all);
    for (std::size_t i = 0; i < v.corrections.size(); ++i)
        v.all[i].price.seconds *= v.corrections[i].factor;
    v.chosen = v.cheapest = cheapest_of(v.all);
    const std::string price =
        v.corrections.empty() ? "by price" : "by price as corrected by measured calls";
    v.why = "cheapest of " + std::to_string(v.all.size()) + " " + price + ": " +
            time_in_words(v.cheapest->price.seconds);
    if (s.bytes != exact.bytes)
        v.why += " for " + std::to_string(s.bytes) + " bytes";
    const bool by_times = s.profile.measured() || !v.corrections.empty();
    const Rule measured = rule(s);
    // The rules were measured with one rank on each host.
    const Priced *const best = shared_hosts(s) ? nullptr : best_by_rule(measured, v, by_times);
    if (best != nullptr) {
        v.chosen = best;
        v.why = measured.why;
        if (by_times)
            v.why += "; " + price + " none is faster by more than 2 % (" +
                     time_in_words(best->price.seconds) + ")";
    }
    if (v.chosen != by_price && !v.corrections.empty())
        v.why += "; uncorrected the cheapest is " + by_price->name;
    return v;
}

} // namespace

std::size_t size_class(std::size_t bytes) {
    constexpr std::size_t kOctaveDivisor = 8;
    const std::size_t step = std::bit_floor(std::max(bytes, kOctaveDivisor)) / kOctaveDivisor;
    return (bytes + step - 1) / step * step;
}

std::string time_in_words(double seconds) {
    char text[32];
    const bool long_ = seconds >= 1e-3;
    std::snprintf(text, sizeof text, "%.4g %s", seconds * (long_ ? 1e3 : 1e6), long_ ? "ms" : "us");
    return text;
}

// Whether the choice takes at most a tenth longer than the bytes that every candidate has to move.
// What a message costs beside its bytes is the uncertain part of a price: it is measured between
// few ranks, while the others sleep.  So bytes must take far longer than that; the more where all
// hosts share cores, as prices do not know what bytes cost these.
static bool is_of_bytes(const Verdicts &v, const Situation &s) {
    // So many messages without any bytes take less.
    const double least_messages = crowds_one_machine(s) ? 400 : 100;
    const Profile &profile = s.profile;
    const cost::Link &link = profile.between;
    double least = v.chosen->price.seconds;
    for (const Priced &each : v.all)
        if (each.excluded.empty())
            least =
                std::min(least, link.byte * static_cast<double>(std::max(
                                                each.price.bytes_sent, each.price.bytes_received)));
    return v.chosen->price.seconds < 1.1 * least &&
           least > least_messages * (link.latency + link.overhead + profile.common);
}

// Whether what a trial would show of one is true of the other, as far as prices know: they send as
// many messages and bytes, and as many after one another.
static bool are_alike(const cost::Price &a, const cost::Price &b) {
    return a.steps == b.steps && a.messages == b.messages && a.bytes_sent == b.bytes_sent &&
           a.bytes_received == b.bytes_received && a.messages_between == b.messages_between;
}

static std::vector<std::string> close_candidates(const Verdicts &v, const Situation &s) {
    // Prices of messages of some 10 KiB have been seen to be wrong by a factor of two.
    constexpr double kCloseFactor = 1.8;
    constexpr std::size_t kMostCandidates = 4;
    std::vector<const Priced *> close;
    const Rule measured = rule(s);
    for (const Priced &each : v.all)
        if (each.excluded.empty() && &each != v.chosen &&
            (each.price.seconds <= v.cheapest->price.seconds * kCloseFactor ||
             each.name == measured.names[0]))
            close.push_back(&each);
    // The rule's algorithm first: its price may be too high.
    std::stable_sort(close.begin(), close.end(), [&](const Priced *a, const Priced *b) {
        const bool first = a->name == measured.names[0], second = b->name == measured.names[0];
        return first != second ? first : a->price.seconds < b->price.seconds;
    });
    std::vector<std::string> names = {v.chosen->name};
    if (is_of_bytes(v, s))
        return names; // no candidate could be faster by so much that a trial would show it
    std::vector<const Priced *> taken = {v.chosen};
    for (const Priced *each : close)
        if (taken.size() < kMostCandidates && std::ranges::none_of(taken, [&](const Priced *other) {
                return are_alike(each->price, other->price);
            })) {
            taken.push_back(each);
            names.push_back(each->name);
        }
    return names;
}

Choice choose(const Situation &s) {
    if (s.hosts > 1) {
        const Verdicts v = judge(s);
        return {v.chosen->name, v.why + "; " + s.profile.source, !v.settled(),
                close_candidates(v, s)};
    }
    const Choice usual = by_rule(s);
    return faster_as_measured(s, usual.algorithm).value_or(usual);
}

std::vector<std::string> tuning_candidates(const Situation &s) {
    return s.hosts == 1 ? tuning_candidates_in_memory(s) : choose(s).candidates;
}

void require(const algorithms::Choice &choice, const Situation &s) {
    const std::string why = obstacle(choice, s);
    if (why.empty())
        return;
    std::string others;
    for (const std::string_view name : able(s))
        others.append(others.empty() ? "" : ", ").append(name);
    throw Error(Status::unsupported,
                std::string(schedule::name(s.collective)) + " algorithm " +
                    std::string(choice.algorithm->name) + " " + why +
                    "; algorithms that can run: " + (others.empty() ? "none" : others));
}

std::size_t slice_bytes(const Situation &s) {
    // Between hosts a rank passes one slice of a block on while it receives the next.  A slice
    // costs the processor as much as 10 KiB of data, and its acknowledgement nearly as much again:
    // below 16 KiB, one more slice takes longer than it hides.  From 128 KiB on that cost is small,
    // and longer slices only arrive later.  Shorter blocks travel together: as many whole blocks as
    // it takes to reach 16 KiB.  (If they had to stay below 16 KiB, the blocks of 127 ranks, of
    // which two are just too long, would need twice as many messages as those of 128 ranks.)
    if (s.hosts > 1) {
        constexpr std::size_t kLeastBytes = 16u << 10, kLineBytes = 64;
        const std::size_t block =
            (s.bytes / static_cast<unsigned>(s.ranks) / kLineBytes + 1) * kLineBytes;
        if (block < kLeastBytes)
            return (kLeastBytes + block - 1) / block * block;
        return std::clamp<std::size_t>(std::bit_floor(block / 4), kLeastBytes, 128u << 10);
    }
    if (s.bytes > (1u << 20))
        return 256u << 10;
    // In a broadcast or a reduce, a reader can start only when the first slice is complete: with a
    // few slices it starts early.  64 KiB at 2 ranks in four slices: both take 0.73 of the time.
    const bool one_way =
        s.collective == Collective::broadcast || s.collective == Collective::reduce;
    return one_way ? std::clamp<std::size_t>(std::bit_floor(s.bytes / 4), 8u << 10, 64u << 10)
                   : 64u << 10;
}

std::size_t ring_bytes(int ranks, int hosts) {
    // Between hosts, the size of a ring limits the data on their way.  With rings as short as on
    // one host, a reader would have to report its progress all the time.  If a rank comes late, the
    // others go on and leave it up to half a ring of results, which should hold a whole vector.
    // Each rank has mirrors of the rings that it reads, so rings get shorter with the number of
    // ranks.  Short calls go round all of a ring: with 32 MiB, 4 hosts and 1600 calls of 64 KiB a
    // rank touches 10 times as many pages as with 8 MiB, and 63 MiB where it is 11.
    if (hosts > 1)
        return std::clamp(std::bit_floor((128u << 20) / static_cast<unsigned>(ranks)), 512u << 10,
                          8u << 20);
    // Long enough that a line has left its reader's private cache before it is written again, and
    // so short that all rings stay in the shared cache beside the vectors.  Measured on 2 cores:
    // 4 MiB for each of 8 ranks takes 1.4 to 1.7 times as long; at 2 ranks 1 MiB takes 1.1 to 1.5
    // of the time of 2 MiB for allreduces up to 64 KiB, and 0.9 for allgathers of 256 KiB to 1 MiB.
    constexpr std::size_t kAllBytes = 4u << 20; // of all ranks together
    constexpr std::size_t kLeastBytes = 512u << 10, kMostBytes = 2u << 20;
    return std::clamp(std::bit_floor(kAllBytes / static_cast<unsigned>(ranks)), kLeastBytes,
                      kMostBytes);
}

} // namespace stretto::select

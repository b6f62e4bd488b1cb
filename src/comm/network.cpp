// SPDX-License-Identifier: BSD-3-Clause
// What the network is like: measured when a job on several hosts has come together.
//
// Rank 0 measures with the lowest rank on another host and with the lowest other one on its own
// (survey.hpp), by calls of the engine as any other call is one.  What comes next depends on the
// times so far, which rank 0 alone knows; so it tells all ranks, by a broadcast, what they try
// next, and at last what came of it.  The others make the calls of each probe as well, in which
// they have nothing to do, and wait for the next order.  Until the end no rank chooses an algorithm
// by any profile; from then on all go by the same.
//
// Since these are calls, what may happen is what may happen in any: a rank that dies, has no memory
// or cannot read its file is the error of all of them.
#include <algorithm>
#include <array>
#include <ctime>
#include <type_traits>

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "net/sockets.hpp"
#include "reduce/kernels.hpp"
#include "select/profile_json.hpp"
#include "select/survey.hpp"

namespace stretto::comm {

namespace {

constexpr std::size_t kElement = 8;   // bytes
constexpr std::size_t kSlice = 65536; // in which a stream travels
// Seconds: after which no more is tried; and what the link inside may take of them.
constexpr double kMost = 0.5, kMostInside = 0.05;

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
    constexpr std::size_t kCount = 4096;
    constexpr int kRounds = 9, kPasses = 16;
    const reduce::Pass add = reduce::pass(Dtype::f32, ReduceOp::sum);
    std::vector<float> sum(kCount), more(kCount, 1e-30F);
    void *const out[] = {sum.data()};
    const void *const in[] = {sum.data(), more.data()};
    std::array<double, kRounds> times{};
    for (double &each : times) {
        const std::uint64_t start = now_ticks();
        for (int pass = 0; pass < kPasses; ++pass)
            add(out, 1, in, 2, kCount, 0);
        each = seconds_since(start);
    }
    return *std::min_element(times.begin(), times.end()) / (kPasses * kCount * sizeof(float));
}

std::string now_in_words() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    char text[64] = "";
    if (gmtime_r(&now, &parts) != nullptr)
        (void)std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text;
}

// What rank 0 tells all ranks, as bytes: what to try, and when there is nothing more to try between
// two ranks how often all of them exchange something
class Orders {
public:
    select::Probe between, inside;
    std::uint64_t gatherings = 0;
    bool over() const { return between == select::kNoProbe && inside == select::kNoProbe; }
};

// what came of it.
class Findings {
public:
    Findings() = default;
    explicit Findings(const select::Profile &profile)
        : inside_(profile.inside), between_(profile.between), common_(profile.common) {
        const std::string *const words[] = {&profile.source, &profile.how_inside,
                                            &profile.how_between, &profile.host, &profile.date};
        for (std::size_t i = 0; i < std::size(texts_); ++i) // each ends with a zero
            (void)words[i]->copy(texts_[i], sizeof(texts_[i]) - 1);
    }
    select::Profile profile() const {
        return {inside_, between_, common_, texts_[0], texts_[1], texts_[2], texts_[3], texts_[4]};
    }

private:
    select::Link inside_, between_;
    double common_ = 0;
    char texts_[5][512] = {};
};

// Of rank 0 and another.
struct Pair {
    int peer = -1; // none
    select::Survey survey = {};
    double spent = 0; // seconds
    std::vector<std::byte> data = {};

    select::Probe next(double left) { return peer < 0 ? select::kNoProbe : survey.next(left); }
};

class Measurement {
public:
    // Plays a schedule that `make` makes, and that has this name, on these bytes.
    using Play =
        std::function<void(const std::string &name, const std::function<schedule::Schedule()> &make,
                           void *data, std::size_t bytes)>;

    Measurement(const transport::Segment &segment, int rank, Play play)
        : segment_(segment), rank_(rank), play_(std::move(play)), between_{peer(false)},
          inside_{peer(true)} {}

    // The same on all ranks.
    select::Profile run() {
        std::optional<select::Profile> given;
        if (rank_ == 0)
            given = from_settings();
        const bool wanted = rank_ == 0 && !given;
        const double reduction = wanted ? measure_reduction() : 0;
        const std::uint64_t start = now_ticks();
        select::Profile profile = given.value_or(select::Profile{});
        Orders orders;
        for (;;) {
            if (wanted) {
                const double left = kMost - seconds_since(start);
                orders.between = between_.next(left);
                orders.inside = inside_.next(std::min(left, kMostInside - inside_.spent));
                if (orders.over()) {
                    profile = found(reduction);
                    orders.gatherings = gatherings(profile);
                }
            }
            tell_all("orders", orders);
            if (orders.over())
                break;
            attempt(orders.between, between_);
            attempt(orders.inside, inside_);
        }
        const double together = gather(orders.gatherings);
        if (wanted)
            profile.common = common(profile, together);
        Findings findings;
        if (rank_ == 0)
            findings = Findings(profile);
        tell_all("findings", findings);
        return findings.profile();
    }

private:
    int peer(bool inside) const {
        const transport::Placement &placement = segment_.placement();
        for (int rank = 1; rank < segment_.ranks(); ++rank)
            if ((placement.host_of(rank) == placement.host_of(0)) == inside)
                return rank;
        return -1;
    }

    static std::optional<select::Profile> from_settings() {
        const std::string wanted = text(Setting::profile);
        if (wanted.empty() || wanted == "off")
            return std::nullopt;
        return wanted == "assumed" ? select::Profile{} : select::load_profile(wanted);
    }

    // By an algorithm that nobody chooses.
    template<class What>
    void tell_all(const char *name, What &what) const {
        static_assert(std::is_trivially_copyable_v<What> && sizeof(What) % kElement == 0);
        const int ranks = segment_.ranks();
        play_(
            name,
            [ranks] {
                return algorithms::make(
                    algorithms::parse(schedule::Collective::broadcast, "binomial"), ranks);
            },
            &what, sizeof(What));
    }

    void pass_on(int from, int to, std::size_t bytes, void *data) const {
        const int ranks = segment_.ranks();
        play_(
            "one way, " + std::to_string(from) + " to " + std::to_string(to),
            [=] { return one_way(ranks, from, to); }, data, bytes);
    }

    // All ranks make these calls; to all but the two of the pair they are nothing.
    void attempt(const select::Probe &probe, Pair &pair) const {
        if (rank_ == 0 || rank_ == pair.peer)
            pair.data.resize(std::max({kElement, std::size_t{probe.large}, pair.data.size()}));
        const std::uint64_t start = now_ticks();
        // So many messages there, of so many bytes, and an element back.
        const auto time = [&](int messages, std::size_t bytes, std::vector<double> &seconds) {
            const std::uint64_t begin = now_ticks();
            for (int i = 0; i < messages; ++i)
                pass_on(0, pair.peer, bytes, pair.data.data());
            pass_on(pair.peer, 0, kElement, pair.data.data());
            seconds.push_back(seconds_since(begin));
        };
        select::Times times;
        for (std::uint32_t i = 0; i < probe.pings; ++i)
            time(1, kElement, times.pings);
        for (std::uint32_t i = 0; i < probe.lead; ++i)
            time(1, probe.large, times.lead);
        for (std::uint32_t i = 0; i < probe.rounds; ++i) {
            time(1, probe.small, times.small);
            time(1, probe.large, times.large);
        }
        for (std::uint32_t i = 0; i < probe.bursts; ++i)
            time(select::kBurst, kElement, times.bursts);
        pair.spent += seconds_since(start);
        pair.survey.took(probe, times);
    }

    // In which all ranks send as many short messages at the same time.
    schedule::Schedule gathering() const {
        return algorithms::make(algorithms::parse(schedule::Collective::allgather, "circulant"),
                                segment_.ranks());
    }

    select::Price price(const select::Profile &profile) const {
        select::Topology topology{
            .host_of = {}, .inside = profile.inside, .between = profile.between};
        for (int rank = 0; rank < segment_.ranks(); ++rank)
            topology.host_of.push_back(segment_.placement().host_of(rank));
        topology.eager = kSlice;
        return select::price(gathering(), static_cast<std::size_t>(segment_.ranks()), kElement,
                             kSlice, topology);
    }

    // As many as a tenth of a second has room for, if they take what they should.
    std::uint64_t gatherings(const select::Profile &profile) const {
        constexpr double kMostTogether = 0.1, kFew = 3, kMany = 16;
        return static_cast<std::uint64_t>(
            std::clamp(kMostTogether / price(profile).seconds, kFew, kMany));
    }

    // Seconds of one: the median.
    double gather(std::uint64_t times) const {
        std::vector<double> seconds;
        std::vector<std::byte> data(static_cast<std::size_t>(segment_.ranks()) * kElement);
        for (std::uint64_t i = 0; i < times; ++i) {
            const std::uint64_t begin = now_ticks();
            play_("gathering", [this] { return gathering(); }, data.data(), data.size());
            seconds.push_back(seconds_since(begin));
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds.empty() ? 0 : seconds[seconds.size() / 2];
    }

    // If all together take clearly longer than each by itself does, there is something that they
    // share, and every message has its part of it; else 0.
    double common(const select::Profile &profile, double together) const {
        constexpr double kClearly = 1.5;
        const select::Price alone = price(profile);
        return together > alone.seconds * kClearly && alone.pieces > 0 ? together / alone.pieces
                                                                       : 0;
    }

    select::Profile found(double reduction) const {
        select::Profile profile;
        profile.between = between_.survey.link(profile.between, kSlice, profile.how_between);
        profile.how_between +=
            ", with rank " + std::to_string(between_.peer) + segment_.place(between_.peer);
        if (inside_.peer >= 0) {
            profile.inside = inside_.survey.link(profile.inside, kSlice, profile.how_inside);
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
    const Play play_;
    Pair between_, inside_;
};

} // namespace

void Communicator::learn() {
    if (segment_->placement().one_host())
        return; // no network between these ranks
    try {
        Measurement measurement(
            *segment_, rank(),
            [this](const std::string &name, const MakeSchedule &make, void *data,
                   std::size_t bytes) { play_unseen(name, make, data, bytes); });
        profile_ = measurement.run();
    } catch (...) { // also what only this rank can find wrong, such as a file
        tell();
    }
    first_call_ = engine_.calls();
    engine_.number_from_here();
}

// A call that no caller made: neither statistics nor traces have it.
void Communicator::play_unseen(const std::string &name, const MakeSchedule &make, void *data,
                               std::size_t bytes) {
    std::unique_ptr<const engine::Plan> &plan = plans_[name + ", " + std::to_string(bytes)];
    if (plan == nullptr) {
        engine::PlanOptions options;
        options.count = bytes / kElement;
        options.element = kElement;
        options.slice = kSlice;
        options.ring_bytes = segment_->ring_bytes();
        options.cores = segment_->header().cores;
        options.output_everywhere = false;
        plan = engine::compile(make(), rank(), options);
        plan_bytes_ += plan->footprint();
    }
    engine::Call call;
    call.plan = plan.get();
    call.input = call.output = data;
    call.in_place = true;
    call.said = {static_cast<std::uint64_t>(Collective::custom), bytes / kElement};
    call.fingerprint =
        mix(mix(mix(segment_->header().key, call.said.what), call.said.count), plan->identity);
    engine::Tally tally;
    engine_.play(call, tally);
}

} // namespace stretto::comm

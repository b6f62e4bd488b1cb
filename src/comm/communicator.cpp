// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <algorithm>
#include <unistd.h>

#include "algorithms/algorithm.hpp"
#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"
#include "base/warning.hpp"
#include "comm/child.hpp"
#include "net/sockets.hpp"

namespace stretto::comm {

namespace {

engine::EngineOptions engine_options(const transport::Segment &segment, int rank,
                                     trace::Recorder *recorder) {
    const transport::SegmentHeader &header = segment.header();
    const bool one_host = segment.placement().one_host();
    engine::EngineOptions options;
    options.recorder = recorder;
    options.who = segment.names().of(rank);
    if (!one_host)
        options.who += " on " + net::host_name();
    // What comes from another host is not there sooner for being looked for, and each look is a
    // system call.
    const std::uint64_t spin_ns = header.ranks > header.cores || !one_host ? 0 : 100'000;
    options.timeout_ns = nanoseconds(Setting::timeout);
    options.spin_ns = given(Setting::spin) ? nanoseconds(Setting::spin) : spin_ns;
    return options;
}

} // namespace

Communicator::Communicator(const Identity &identity, const ParentContext *origin)
    : me_(identity),
      of_job_(origin == nullptr || origin->kind == RegisteredCommunicator::Kind::job),
      joined_(join(identity, origin)), segment_(joined_.segment),
      membership_{joined_, identity.rank}, tracing_(start_trace(origin)),
      notes_{start_call_log(origin)}, heap_(segment_, identity.rank),
      messenger_(segment_, identity.rank, heap_, engine_options(*segment_, identity.rank, tracing_),
                 [this](std::uint64_t call) { engine_.judge(call); }),
      engine_(
          segment_, identity.rank, heap_, engine_options(*segment_, identity.rank, tracing_),
          [this](const engine::Said &said) { return describe(said); }, &messenger_),
      queue_(engine_, *segment_, identity.rank),
      profile_(origin != nullptr ? origin->profile : select::Profile{}),
      tries_(number(Setting::autotune) != 0 && !segment_->placement().one_host()),
      watches_(number(Setting::arrivals) != 0), late_rank_detector_(*segment_, identity.rank),
      most_plan_bytes_(number(Setting::plan_bytes)),
      logs_choices_(identity.rank == 0 && text(Setting::log) == "choice"),
      exhausted_(engine::no_memory(segment_->names().of(identity.rank))) {
    set_reproducible(select::reproducible_named(text(Setting::reproducible)));
    force(text(Setting::algorithm), "STRETTO_ALGORITHM", origin != nullptr && children_fall_back);
    constexpr std::uint64_t kFloorNs = 1'000'000'000; // ns
    if (const std::uint64_t factor = number(Setting::stall_warning); factor != 0)
        set_stall_callback(
            [](const engine::Alert &alert) {
                if (alert.lowest)
                    log("stall: " + alert.text);
            },
            static_cast<double>(factor), kFloorNs);
}

Communicator::Membership::~Membership() {
    constexpr std::uint64_t kFarewellNs = 2'000'000'000; // ns for what is on its way
    if (joined.linked_peers != nullptr)
        joined.linked_peers->leave(kFarewellNs);
    joined.registration.reset();
    joined.reach.watch.reset();
    joined.segment->leave(rank);
}

std::string Communicator::describe(const engine::Said &said) const {
    if (said.by != 0) {
        const Collective collective = collective_in(said.what);
        std::string by = "an algorithm from elsewhere";
        for (const algorithms::Algorithm &each : algorithms::all())
            if (each.collective == collective &&
                engine::same_name(said.by, engine::algorithm_code(each.name)))
                by = each.name;
        const std::string parameters = engine::text_of(said.parameters);
        return describe({said.what, said.count}) + " by " + by +
               (parameters.empty() ? "" : "(" + parameters + ")");
    }
    const auto collective = collective_in(said.what);
    const auto root = static_cast<std::uint32_t>(said.what >> kRootShift);
    const bool shares = root != 0 && !schedule::rooted(collective); // then it is their mark
    std::string text((said.what & kOverlapsFlag) != 0 ? "nonblocking " : "");
    const bool by_pairs = (said.what & kByPairsFlag) != 0;
    text.append(schedule::name(collective)).append(shares || by_pairs ? "v" : "");
    if (collective == Collective::custom)
        return "measuring the network";
    if (collective == Collective::barrier)
        return text;
    if (by_pairs)
        return text + "(" + stretto::words(dtype_in(said.what)) +
               (schedule::rooted(collective) ? ", root " + std::to_string(root) : "") + ")";
    text += "(" + std::to_string(said.count) + " x " + stretto::words(dtype_in(said.what));
    if (schedule::reduces(collective))
        text += ", " + std::string(stretto::name(op_in(said.what)));
    if (schedule::rooted(collective))
        text += ", root " + std::to_string(root);
    if (shares) {
        const std::string counts = shares_.words(root);
        text += counts.empty() ? ", counts that differ from those of rank " + std::to_string(rank())
                               : ", counts " + counts;
    }
    // Host memory goes without saying, unless another rank gave another kind.
    const MemoryKind memory = memory_in(said.what);
    if (memory != MemoryKind::host || (said.unlike != 0 && memory_in(said.unlike) != memory))
        text.append(", in ").append(stretto::words(memory));
    if (const auto mode = static_cast<select::Reproducible>(said.what >> kReproducibleShift & 3);
        mode != select::Reproducible::off)
        text += ", reproducible " + std::string(select::name(mode));
    if ((said.what & kOfFileFlag) != 0)
        text += ", by a schedule from a file";
    if ((said.what & kAsRanksArriveFlag) != 0)
        text += ", as ranks arrive";
    return text + ")";
}

void Communicator::fail_together() {
    try {
        throw;
    } catch (const Error &error) {
        if (error.status() == Status::argument || error.status() == Status::unsupported)
            throw;
        tell();
    } catch (...) {
        tell();
    }
}

static Error refusal(const Error &failure) {
    return {Status::revoked,
            std::string("the communicator failed in an earlier call: ") + failure.what()};
}

void Communicator::tell() {
    const Error failure = engine::post_exception(*segment_, rank(), exhausted_);
    if (told_.exchange(true))
        throw refusal(failure);
    trace_failure(failure);
    throw failure;
}

void Communicator::knows(const Error &error) noexcept {
    if (segment_->failed() && engine::posted(*segment_, exhausted_).status() == error.status() &&
        !told_.exchange(true))
        trace_failure(error);
}

void Communicator::admit() {
    if (told_.load(std::memory_order_relaxed)) [[unlikely]]
        throw refusal(engine::posted(*segment_, exhausted_));
}

void Communicator::force(std::string_view rules, std::string by, bool where_possible) {
    CallPolicy wanted = terms();
    wanted.forced = select::parse_forced(rules);
    std::string obstacle;
    if (where_possible)
        wanted.forced = select::rules_that_run(wanted.forced, size(), obstacle);
    static std::atomic<bool> said{false};
    if (!obstacle.empty() && rank() == 0 && !said.exchange(true))
        warn("on a communicator of " + std::to_string(size()) +
             " of the ranks the library chooses the algorithm: " + by + ": " + obstacle);
    try { // each rank may have another file there
        select::import_files(wanted.forced, size());
    } catch (const Error &error) {
        throw Error(error.status(), segment_->names().of(rank()) + ": " + error.what());
    }
    select::require(wanted.forced, size());
    wanted.forced_by = wanted.forced.empty() ? "" : std::move(by);
    agree(std::move(wanted));
}

void Communicator::settle(const ParentContext &origin) {
    if (joined_.linked_peers == nullptr)
        return; // the ranks of one host wait for one another while they join
    try {
        play_unnoted(barrier_request());
    } catch (const Error &error) {
        // Who could not make it leaves, and tells the parent why: that may still be on its way.
        constexpr std::uint64_t kPatienceNs = 1'000'000'000; // ns
        const std::uint64_t start = now_ns();
        while (error.status() == Status::peer && now_ns() - start < kPatienceNs) {
            origin.watch();
            interruption_point();
            usleep(1000);
        }
        throw;
    }
    reset_stats();
    first_call_ = engine_.calls();
}

void Communicator::quiesce() {
    queue_.abandon();
    messenger_.abandon();
}

std::uint64_t Communicator::completed() {
    std::uint64_t calls = all_completed();
    const auto own = std::lower_bound(own_calls_.begin(), own_calls_.end(), calls);
    calls -= own_before_ + static_cast<std::uint64_t>(own - own_calls_.begin());
    return calls - std::min(calls, first_call_);
}

std::uint64_t Communicator::all_completed() {
    const std::lock_guard lock(exchanges_mutex_);
    const std::uint64_t calls = engine_.completed();
    return exchanges_.empty() ? calls : std::min(calls, *exchanges_.begin());
}

// The next call is none that a caller makes.
void Communicator::count_own_call(std::uint64_t ahead) {
    constexpr std::size_t kManyCalls = 1024;
    if (own_calls_.size() >= kManyCalls)
        queue_.while_still([&] {
            const auto later =
                std::lower_bound(own_calls_.begin(), own_calls_.end(), all_completed());
            own_before_ += static_cast<std::uint64_t>(later - own_calls_.begin());
            own_calls_.erase(own_calls_.begin(), later);
        });
    own_calls_.push_back(engine_.calls() + ahead);
}

void Communicator::inherit(const Communicator &other, bool algorithm) {
    CallPolicy inherited = terms();
    inherited.reproducible = other.terms().reproducible;
    if (algorithm) {
        inherited.forced = other.terms().forced;
        inherited.forced_by = other.terms().forced_by;
    }
    agree(std::move(inherited));
}

void Communicator::set_reproducible(select::Reproducible mode) {
    CallPolicy wanted = terms();
    wanted.reproducible = mode;
    agree(std::move(wanted));
}

void Communicator::agree(CallPolicy terms) {
    const auto found = std::find(all_terms_.begin(), all_terms_.end(), terms);
    terms_now_ = static_cast<std::size_t>(found - all_terms_.begin());
    if (found == all_terms_.end())
        all_terms_.push_back(std::move(terms));
}

} // namespace stretto::comm

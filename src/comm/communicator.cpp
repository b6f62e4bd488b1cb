// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <unistd.h>
#include <utility>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "base/status.hpp"
#include "base/warning.hpp"
#include "calls/call_words.hpp"
#include "comm/child.hpp"
#include "device/devices.hpp"
#include "engine/failure.hpp"
#include "net/sockets.hpp"
#include "tuning/network.hpp"

namespace stretto::comm {

namespace {

// With MPS kernels of several processes run at the same time.
engine::Launches launches(const Config::Kernels &config) {
    using engine::Launches;
    if (config.gpu_launch == "shared")
        return Launches::always_one;
    return config.gpu_launch == "own" || config.mps_named ? Launches::own : Launches::one_process;
}

engine::EngineOptions engine_options(const Config &config, const transport::Segment &segment,
                                     int rank, trace::Recorder *recorder) {
    const transport::SegmentHeader &header = segment.header();
    const bool one_host = segment.placement().one_host();
    engine::EngineOptions options;
    options.recorder = recorder;
    options.who = segment.names().of(rank);
    if (!one_host)
        options.who += " on " + net::host_name();
    // Polling does not make a packet from another host arrive sooner, and each poll of a socket is
    // a system call: so no rank spins if there are several hosts.
    const std::uint64_t spin_ns = header.ranks > header.cores || !one_host ? 0 : 100'000;
    options.timeout_ns = config.waits.timeout_ns;
    options.spin_ns = config.waits.spin_ns.value_or(spin_ns);
    options.attaches_to_reduce = config.kernels.cma == "all";
    options.shares_devices = config.kernels.cuda_ipc;
    options.launches = launches(config.kernels);
    options.one_pass = config.kernels.gpu_launch == "auto";
    return options;
}

p2p::MatchingOptions matching_options(const Config::Matching &config,
                                      const transport::Segment &segment,
                                      trace::Recorder *recorder) {
    p2p::MatchingOptions options;
    for (const p2p::Scheme scheme : p2p::kSchemes)
        if (name(scheme) == config.scheme)
            options.fixed = scheme;
    options.ranks = segment.ranks();
    options.calls = config.calls;
    options.attempts = config.attempts;
    if (recorder != nullptr)
        options.converted = [recorder](const p2p::Conversion &conversion) {
            recorder->queue_converts(conversion.queue == p2p::Matcher::Queue::unexpected,
                                     name(conversion.from), name(conversion.to), conversion.items);
        };
    return options;
}

int job_rank(const bootstrap::Joined &joined, int rank) {
    return joined.reach.watch == nullptr ? rank
                                         : joined.reach.ranks[static_cast<std::size_t>(rank)];
}

// Sources and tags of the messages that the library sends for a collective say nothing to the
// program.  Reports name ranks of the job.
arrival::QueueUse use_of(const p2p::QueueState &state, const bootstrap::Joined &joined) {
    arrival::QueueUse use{.searches = state.effort.searches,
                          .looks = state.effort.looks,
                          .conversions = state.effort.conversions,
                          .deepest = state.effort.deepest};
    const p2p::Filling &filling = state.filling;
    if (filling.depth != 0 && filling.context == p2p::kUser) {
        use.counted = filling.depth;
        use.source = filling.source == p2p::kAny ? p2p::kAny : job_rank(joined, filling.source);
        use.tag = filling.tag;
        use.source_share = filling.of_source;
        use.tag_share = filling.of_tag;
    }
    return use;
}

// The identity of this rank in the files that it writes.  The key of the segment is hashed: the
// files need a number that tells jobs apart, not the key itself.
RankIdentity in_files(const bootstrap::Identity &me, const transport::Segment &segment) {
    constexpr std::uint64_t kNameMagic = 0x7472616365;
    return {me.job, mix(segment.header().key, kNameMagic), me.rank, me.size};
}

// The log of calls, one for a rank and all of its communicators.
std::shared_ptr<arrival::CallLog> call_log(const Config::Report &config,
                                           const bootstrap::Identity &me,
                                           const bootstrap::ParentContext *origin,
                                           transport::Segment &segment) {
    if (origin != nullptr)
        return origin->call_log;
    try {
        return arrival::CallLog::open(config, in_files(me, segment));
    } catch (...) { // the others wait for this rank
        throw engine::post_exception(segment, me.rank,
                                     engine::no_memory(segment.names().of(me.rank)));
    }
}

// The decision service of a job on several hosts; null if the job is on one.
arrival::DecisionService *decisions(const bootstrap::Joined &joined) {
    return joined.reach.watch == nullptr ? nullptr : &joined.reach.watch->decisions();
}

tuning::Trials::Background background(const bootstrap::Joined &joined) {
    arrival::DecisionService *const service = decisions(joined);
    if (service == nullptr)
        return nullptr;
    return [service](std::function<void()> job) { service->soon(std::move(job)); };
}

} // namespace

Communicator::Communicator(const Config &config, const bootstrap::Identity &identity,
                           const bootstrap::ParentContext *origin)
    : config_(config), me_(identity),
      of_job_(origin == nullptr || origin->kind == bootstrap::RegisteredCommunicator::Kind::job),
      joined_(bootstrap::join(config, identity, origin)), segment_(joined_.segment),
      membership_(joined_, identity.rank),
      clock_(decisions(joined_), job_rank(joined_, identity.rank)),
      recorder_(trace_.start(config.trace, in_files(identity, *segment_),
                             origin != nullptr ? &origin->trace : nullptr, *segment_,
                             joined_.linked_peers.get())),
      report_(call_log(config.report, identity, origin, *segment_), in_files(identity, *segment_),
              clock_),
      heap_(segment_, identity.rank),
      messenger_(
          segment_, identity.rank, heap_,
          engine_options(config, *segment_, identity.rank, recorder_),
          [this](std::uint64_t call) { engine_.judge(call); },
          matching_options(config.matching, *segment_, recorder_), notices_),
      engine_(
          segment_, identity.rank, heap_,
          engine_options(config, *segment_, identity.rank, recorder_),
          [this](const engine::CallDescriptor &descriptor) {
              return describe(descriptor, calls_.shares, rank());
          },
          &messenger_),
      queue_(engine_, *segment_, identity.rank, notices_),
      calls_(config.calls, *segment_, identity.rank, identity.job, heap_, engine_, queue_,
             [this] { return exchanges_.completed(); }),
      exchanges_(*segment_, identity.rank, engine_, queue_, messenger_, calls_.plans),
      trials_(calls_, queue_, background(joined_),
              config.tuning.autotune && !segment_->placement().one_host()),
      arrivals_({*segment_, identity.rank, calls_, trials_, [this] { (void)messenger_.progress(); },
                 [this] {
                     (void)messenger_.progress();
                     queue_.order().give_way();
                 },
                 decisions(joined_),
                 joined_.registration ? joined_.registration->warming() : nullptr,
                 joined_.reach.ranks, clock_, config.waits.timeout_ns},
                config.arrivals.enabled),
      exhausted_(engine::no_memory(segment_->names().of(identity.rank))) {
    device::look_for_devices();
    if (origin == nullptr) // else the first call opens the rings
        device::prepare_for_calls(engine_);
    calls_.cache.add(report_);
    calls_.cache.add(arrivals_); // late ranks come before trials
    calls_.cache.add(trials_);
    if (origin != nullptr)
        calls_.selection.set_profile(origin->profile);
    calls_.policies.set_reproducible(select::reproducible_named(config.calls.reproducible));
    calls_.policies.force(config.calls.algorithm, "STRETTO_ALGORITHM",
                          origin != nullptr && children_fall_back);
    constexpr std::uint64_t kFloorNs = 1'000'000'000;
    if (const std::uint64_t factor = config.waits.stall_warning_factor; factor != 0)
        engine_.stall_watch().set(
            [](const engine::Alert &alert) {
                if (alert.lowest)
                    log("stall: " + alert.text);
            },
            static_cast<double>(factor), kFloorNs);
}

std::uint64_t Communicator::play(const calls::Request &request) {
    return play_since(report_.on() ? now_ns() : 0, request);
}

// `came`: when the caller came; 0 if the call is not reported.
std::uint64_t Communicator::play_since(std::uint64_t came, const calls::Request &request) {
    return together([&] {
        engine::CallOrder::Hold order(queue_.order());
        const std::uint64_t number = engine_.calls();
        calls::CallEntry &entry = calls_.cache.entry_of_call(request, order);
        if (!entry.hooks.empty()) [[unlikely]] {
            order.give();
            return play_hooked(came, request);
        }
        queue_.play(calls_.cache.call(request, entry), entry.tally, order);
        return number;
    });
}

// A hook knows one call at a time: the next thread begins its call when this one has ended.
std::uint64_t Communicator::play_hooked(std::uint64_t came, const calls::Request &request) {
    const std::lock_guard alone(hooked_);
    engine::CallOrder::Hold order(queue_.order());
    const std::uint64_t number = engine_.calls();
    calls::CallEntry &entry = calls_.cache.entry_of_call(request, order);
    play_with_hooks({request, entry, order, came}, calls_.cache, queue_);
    return number;
}

engine::Queue::InFlightCall *Communicator::start(const calls::Request &request) {
    const std::uint64_t came = report_.on() ? now_ns() : 0;
    return together([&] {
        engine::CallOrder::Hold order(queue_.order());
        calls::CallEntry &entry = calls_.cache.entry_of_call(request, order);
        if (entry.hooks.empty()) [[likely]]
            return queue_.start(calls_.cache.call(request, entry), entry.tally, request.gate);
        return start_with_hooks({request, entry, order, came}, calls_.cache, queue_);
    });
}

void Communicator::complete(engine::Queue::InFlightCall *flight) {
    if (!report_.on())
        return queue_.finish(flight);
    const std::uint64_t came = now_ns();
    queue_.wait(*flight);
    queue_.order().run([&] { report_.ended(flight, came); });
    queue_.finish(flight);
}

void Communicator::prepare(const calls::Request &request) {
    together([&] { queue_.order().run([&] { calls_.cache.prepare(request); }); });
}

std::string Communicator::chosen(const calls::Request &request) {
    return queue_.order().run([&] { return calls_.cache.prepare(request).plan->algorithm; });
}

Exchanges::Begun Communicator::exchange(const Exchange &what) {
    return together([&] {
        engine::CallOrder::Hold order(queue_.order());
        return exchanges_.start(what, order);
    });
}

void Communicator::record_exchange(schedule::Collective collective, std::uint64_t came) {
    const engine::CallOrder::Hold order(queue_.order());
    const std::uint64_t now = now_ns();
    exchanges_.add_seconds(collective, static_cast<double>(now - came) * 1e-9);
    if (report_.on())
        report_.note_exchange(collective, came, now);
}

calls::Stats Communicator::stats() {
    const engine::CallOrder::Hold order(queue_.order());
    calls::Stats all = calls_.cache.stats();
    all.insert(exchanges_.stats().begin(), exchanges_.stats().end());
    return all;
}

void Communicator::reset_stats() {
    const engine::CallOrder::Hold order(queue_.order());
    calls_.cache.reset_stats();
    exchanges_.reset_stats();
}

void Communicator::finish_files() {
    if (const auto &log = report_.log()) {
        const p2p::Messenger::Queues queues = messenger_.queues();
        log->add_queues(use_of(queues.posted, joined_), use_of(queues.unexpected, joined_));
    }
    if (of_job_)
        trace_.write(clock_);
}

void Communicator::fail_together(bool late) {
    try {
        throw;
    } catch (const Error &error) {
        if (error.status() == Status::argument || error.status() == Status::unsupported)
            throw;
        post_failure(late);
    } catch (...) {
        post_failure(late);
    }
}

static Error refusal(const Error &failure) {
    return {Status::revoked,
            std::string("the communicator failed in an earlier call: ") + failure.what()};
}

void Communicator::post_failure(bool late) {
    const Error failure = engine::post_exception(*segment_, rank(), exhausted_);
    if (!failure_reported_.exchange(true))
        trace_.failed(failure, clock_);
    if (late)
        throw refusal(failure);
    throw failure;
}

void Communicator::note_reported(const Error &error) noexcept {
    if (segment_->failed() && engine::posted(*segment_, exhausted_).status() == error.status() &&
        !failure_reported_.exchange(true))
        trace_.failed(error, clock_);
}

void Communicator::check_usable() {
    if (failure_reported_.load(std::memory_order_relaxed)) [[unlikely]]
        throw refusal(engine::posted(*segment_, exhausted_));
}

void Communicator::await_members(const bootstrap::ParentContext &origin) {
    if (joined_.linked_peers == nullptr)
        return; // the ranks of one host wait for one another while they join
    try {
        play_since(0, barrier_request());
    } catch (const Error &error) {
        // A rank that could not make the child leaves it, and posts the reason to the parent.  The
        // reason may still be on its way, so look for it there for a second.
        constexpr std::uint64_t kPatienceNs = 1'000'000'000;
        const std::uint64_t start = now_ns();
        while (error.status() == Status::peer && now_ns() - start < kPatienceNs) {
            origin.watch();
            interruption_point();
            usleep(1000);
        }
        throw;
    }
    reset_stats();
    calls_.internal.callers_begin();
}

void Communicator::quiesce() {
    queue_.order().run([&] { queue_.abandon(); });
    messenger_.abandon();
}

void Communicator::learn_network() {
    if (segment_->placement().one_host() && (size() == 1 || segment_->header().profile == 0))
        return; // there is no network, and rank 0 has no file to read
    engine_.end_waits_at(
        joined_.deadline,
        " at the end of STRETTO_INIT_TIMEOUT (" + in_seconds(config_.waits.init_timeout_ns) +
            ").  Connections are open and shorter messages may have come: if this one needs full "
            "packets, the way between the hosts may carry none that are as large as their "
            "interfaces allow (look at their MTU; `ip link set DEV mtu 1500` to try); else see "
            "whether a rank is stopped.  STRETTO_TUNING_FILE=assumed measures nothing");
    try {
        calls_.selection.set_profile(
            tuning::agree_on_network(config_.tuning, *segment_, rank(), calls_.internal));
    } catch (...) { // also an error of this rank alone, for instance of a file
        post_failure(false);
    }
    engine_.end_waits_as_ever();
    calls_.internal.callers_begin();
    engine_.number_from_here();
}

} // namespace stretto::comm

// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/failure_detector.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "engine/failure.hpp"

namespace stretto::bootstrap {

namespace {

membership::Heartbeats::Times times(const Config::Failures &config) {
    const std::uint64_t silence = config.peer_timeout_ns;
    membership::Heartbeats::Times times;
    times.interval = config.heartbeat_ns;
    times.deadline = silence == 0 ? UINT64_MAX : silence;
    times.interval = std::min(times.interval, times.deadline / 4); // one may come late
    return times;
}

} // namespace

// ---- the watch

FailureDetector::FailureDetector(const Config &config, int rank, Connections connections)
    : rank_(rank), links_(std::move(connections)) {
    membership::AgentOptions options;
    options.rank = rank;
    options.founding = {0, membership::RankSet::all(links_.ranks()), 0};
    options.heartbeats = times(config.failures);
    membership::Hooks hooks;
    hooks.revoked = [this](std::uint32_t epoch, const membership::Reason &reason) {
        revoked(epoch, reason);
    };
    hooks.lost = [this](int each) { lost(each); };
    hooks.place = [this](int each) { return links_.place(each); };
    hooks.round = [this] { round(); };
    decisions_.add_to(hooks);
    agent_ = std::make_unique<membership::Agent>(std::move(options), links_, std::move(hooks));
    decisions_.use(*agent_);
}

// What other ranks wait for is decided before the agent takes leave.
FailureDetector::~FailureDetector() {
    decisions_.stop();
    agent_.reset();
}

std::optional<Error> FailureDetector::ended(std::uint32_t epoch) const {
    const std::optional<membership::Reason> reason = agent_->reason();
    if (agent_->view().epoch != epoch)
        return Error(Status::revoked, "the ranks that are left go on without this communicator");
    if (reason)
        return Error(reason->status, reason->text);
    return std::nullopt;
}

void FailureDetector::fail(std::uint32_t epoch, const Error &failure) {
    (void)agent_->revoke(epoch, failure.status(), failure.what());
}

membership::View FailureDetector::shrink(std::uint32_t epoch, const Error &failure,
                                         std::uint64_t completed, std::uint64_t patience_ns) {
    fail(epoch, failure);
    const membership::action::Shrunk shrunk = agent_->shrink(completed, patience_ns);
    const std::string who = "rank " + std::to_string(rank_) + " of the job";
    switch (shrunk.outcome) {
    case membership::action::Outcome::succeeded: return shrunk.view;
    case membership::action::Outcome::excluded:
        throw Error(Status::excluded, who + " is excluded: ranks " +
                                          membership::to_text(shrunk.view.members) +
                                          " went on without it, after they had heard nothing of it "
                                          "for too long (STRETTO_PEER_TIMEOUT)");
    case membership::action::Outcome::no_majority: break;
    }
    const auto reason = agent_->reason();
    throw Error(Status::excluded,
                who + " cannot go on: the ranks that it hears are no majority of ranks " +
                    membership::to_text(shrunk.view.members) +
                    ", and the others may go on without it" +
                    (reason ? "; the failure was: " + reason->text : std::string()));
}

void FailureDetector::add(RegisteredCommunicator &registration) {
    const std::lock_guard lock(mutex_);
    registered_.push_back(&registration);
    // What ends from now on is told to it; and what has ended before, here.
    if (const auto ended = this->ended(registration.epoch_))
        registration.segment_.fail(ended->status(), ended->what());
}

void FailureDetector::remove(RegisteredCommunicator &registration) {
    const std::lock_guard lock(mutex_);
    std::erase(registered_, &registration);
}

void FailureDetector::revoked(std::uint32_t epoch, const membership::Reason &reason) {
    const std::lock_guard lock(mutex_);
    for (RegisteredCommunicator *registration : registered_)
        if (registration->epoch_ <= epoch)
            registration->fail(reason);
}

void FailureDetector::lost(int rank) {
    const std::lock_guard lock(mutex_);
    for (RegisteredCommunicator *registration : registered_)
        registration->lose(rank);
}

void FailureDetector::round() {
    const std::lock_guard lock(mutex_);
    for (RegisteredCommunicator *registration : registered_)
        registration->carry();
}

// ---- a communicator

static std::vector<bool> ranks_here(const transport::Segment &segment, std::size_t ranks) {
    std::vector<bool> here(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        here[rank] = segment.here(static_cast<int>(rank));
    return here;
}

RegisteredCommunicator::RegisteredCommunicator(const JobContext &reach, int rank,
                                               transport::Segment &segment,
                                               transport::LinkedPeers *linked_peers)
    : watch_(reach.watch), epoch_(reach.epoch), ranks_(reach.ranks), rank_(rank),
      exhausted_(engine::no_memory(segment.names().of(rank))), segment_(segment),
      linked_peers_(linked_peers),
      warming_(std::make_shared<arrival::TcpPrewarm>(ranks_here(segment, ranks_.size()))) {}

// The other constructor is done: whatever is thrown from here on, the destructor runs.
RegisteredCommunicator::RegisteredCommunicator(const JobContext &reach, Kind kind, int rank,
                                               transport::Segment &segment,
                                               transport::LinkedPeers *linked_peers)
    : RegisteredCommunicator(reach, rank, segment, linked_peers) {
    if (kind == Kind::job && linked_peers_ != nullptr)
        linked_peers_->on_failure([this](const Error &failure) {
            watch_->agent_->fail(epoch_, failure.status(), failure.what());
        });
    watch_->add(*this);
}

RegisteredCommunicator::~RegisteredCommunicator() {
    watch_->remove(*this);
    if (linked_peers_ != nullptr)
        linked_peers_->on_failure({});
}

int RegisteredCommunicator::rank_of(int job_rank) const {
    const auto found = std::find(ranks_.begin(), ranks_.end(), job_rank);
    return found == ranks_.end() ? membership::kNoRank : static_cast<int>(found - ranks_.begin());
}

bool RegisteredCommunicator::renumbered() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (ranks_[rank] != static_cast<int>(rank))
            return true;
    return false;
}

void RegisteredCommunicator::fail(const membership::Reason &reason) {
    std::string text = reason.text;
    if (reason.culprit != membership::kNoRank) {
        text += "; found by rank " + std::to_string(reason.origin);
        if (const int here = rank_of(reason.culprit); renumbered())
            text +=
                " (these are ranks of the job" +
                (here == membership::kNoRank ? ")"
                                             : "; here that is rank " + std::to_string(here) + ")");
        text += "; restart the job, or look in its output for the cause";
    }
    segment_.fail(reason.status, text);
}

void RegisteredCommunicator::lose(int rank) {
    const int here = rank_of(rank);
    if (linked_peers_ != nullptr && here != membership::kNoRank && !segment_.here(here))
        linked_peers_->lose(here);
}

void RegisteredCommunicator::carry() {
    if (linked_peers_ == nullptr)
        return;
    try {
        const arrival::TcpPrewarm::Due due = warming_->due(now_ns());
        for (const int rank : due.ranks)
            linked_peers_->warm(rank, due.bytes);
        (void)linked_peers_->make_progress(transport::RemotePeers::Caller::awake);
    } catch (...) { // no memory for what came: the rank cannot go on
        (void)engine::post_exception(segment_, rank_, exhausted_);
    }
}

} // namespace stretto::bootstrap

// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/peer_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/settings.hpp"
#include "engine/failure.hpp"

namespace stretto::comm {

namespace {

constexpr std::uint32_t kEpoch = 0; // of a communicator that has not shrunk

control::Heartbeats::Times times() {
    const std::uint64_t silence = nanoseconds(Setting::peer_timeout);
    control::Heartbeats::Times times;
    times.interval = nanoseconds(Setting::heartbeat);
    times.deadline = silence == 0 ? UINT64_MAX : silence;
    times.interval = std::min(times.interval, times.deadline / 4); // one may come late
    return times;
}

} // namespace

PeerWatch::PeerWatch(int rank, transport::Segment &segment, transport::Carrier &carrier,
                     Connections connections)
    : rank_(rank), exhausted_(engine::no_memory(rank)), segment_(segment), carrier_(carrier),
      links_(std::move(connections)) {
    control::AgentOptions options;
    options.rank = rank;
    options.founding = {kEpoch, control::RankSet::all(segment.ranks()), 0};
    options.heartbeats = times();
    control::Hooks hooks;
    hooks.revoked = [this](std::uint32_t, const control::Reason &reason) { revoked(reason); };
    hooks.place = [this](int each) { return links_.place(each); };
    hooks.round = [this] { round(); };
    agent_ = std::make_unique<control::Agent>(std::move(options), links_, std::move(hooks));
    carrier_.on_failure(
        [this](const Error &failure) { agent_->fail(kEpoch, failure.status(), failure.what()); });
}

PeerWatch::~PeerWatch() {
    carrier_.on_failure({});
    agent_.reset();
}

void PeerWatch::revoked(const control::Reason &reason) {
    std::string text = reason.text;
    if (reason.culprit != control::kNobody) {
        if (!segment_.here(reason.culprit))
            segment_.lines(reason.culprit).lost.store(1, std::memory_order_release);
        text += "; found by rank " + std::to_string(reason.origin) +
                "; restart the job, or look in its output for the cause";
    }
    segment_.fail(reason.status, text);
}

void PeerWatch::round() {
    try {
        (void)carrier_.carry();
    } catch (...) { // no memory for what came: the rank cannot go on
        (void)engine::post_exception(segment_, rank_, exhausted_);
    }
}

} // namespace stretto::comm

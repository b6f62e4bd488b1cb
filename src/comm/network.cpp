// SPDX-License-Identifier: BSD-3-Clause
// What a job knows of its network, and of what calls take: when it has come together, rank 0 reads
// it, or measures it with the others (measurement.hpp), and tells all.  Until then no rank chooses
// an algorithm by any profile; from then on all go by the same.
//
// It is told as JSON, which says the same in a file, on the way and to callers, and which all ranks
// read, rank 0 as well: so they know the same to the last bit.
//
// These are calls of the engine, as any other call is one: what only one rank can find wrong, such
// as a file, is the error of all of them.
#include <array>
#include <cstring>

#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "comm/measurement.hpp"
#include "comm/network.hpp"
#include "select/profile_json.hpp"

namespace stretto::comm {

bool names_profile() {
    const std::string wanted = text(Setting::tuning_file);
    return !wanted.empty() && wanted != "off" && wanted != "assumed" && wanted != "thorough";
}

namespace {

// Rank 0's.  Between hosts one that is not given is measured, by all ranks.
select::Profile profile_of_job(const transport::Segment &segment, int rank,
                               const PlayUnseen &play) {
    select::Profile profile;
    if (rank == 0 && names_profile())
        profile = select::load_profile(text(Setting::tuning_file));
    if (segment.placement().one_host())
        return profile;
    const bool given = names_profile() ? profile.of_links : text(Setting::tuning_file) == "assumed";
    std::array<std::uint64_t, 1> measure = {given ? 0u : 1u};
    tell_all(play, segment.ranks(), "whether to measure", measure.data(), sizeof measure);
    if (measure[0] == 0)
        return profile;
    const bool thorough = text(Setting::tuning_file) == "thorough";
    select::Profile found = measure_network(
        segment, rank, thorough ? Thoroughness::thorough : Thoroughness::brief, play);
    if (!profile.calls.empty())
        found.source += "; calls: " + profile.source;
    found.calls = std::move(profile.calls);
    return found;
}

// Rank 0's profile, to all: first how long it is.
select::Profile told(const select::Profile &profile, int ranks, int rank, const PlayUnseen &play) {
    std::string text;
    if (rank == 0 && profile != select::Profile{})
        text = select::to_json(profile, "");
    std::array<std::uint64_t, 2> bytes = {profile.source.size(), text.size()};
    tell_all(play, ranks, "bytes of the profile", bytes.data(), sizeof bytes);
    const auto [of_source, of_json] = bytes;
    if (of_json == 0)
        return {};
    text += profile.source;
    text.resize((of_source + of_json + kUnseenElementBytes - 1) / kUnseenElementBytes *
                kUnseenElementBytes);
    tell_all(play, ranks, "profile", text.data(), text.size());
    select::Profile read = select::profile_from_json(std::string_view(text).substr(0, of_json));
    read.source = text.substr(of_json, of_source);
    return read;
}

} // namespace

void Communicator::learn() {
    if (segment_->placement().one_host() && (size() == 1 || segment_->header().profile == 0))
        return; // nothing to know
    const PlayUnseen play = [this](const std::string &name, const MakeSchedule &make, void *data,
                                   std::size_t bytes) { play_unseen(name, make, data, bytes); };
    engine_.end_waits_at(
        joined_.deadline,
        " at the end of STRETTO_INIT_TIMEOUT (" + text(Setting::init_timeout) +
            " s).  Connections are open and shorter messages may have come: if this one needs full "
            "packets, the way between the hosts may carry none that are as large as their "
            "interfaces allow (look at their MTU; `ip link set DEV mtu 1500` to try); else see "
            "whether a rank is stopped.  STRETTO_TUNING_FILE=assumed measures nothing");
    try {
        profile_ = told(profile_of_job(*segment_, rank(), play), size(), rank(), play);
    } catch (...) { // also what only this rank can find wrong, such as a file
        tell();
    }
    engine_.end_waits_as_ever();
    first_call_ = engine_.calls();
    engine_.number_from_here();
}

// A call that no caller made: neither statistics nor traces have it.
void Communicator::play_unseen(const std::string &name, const MakeSchedule &make, void *data,
                               std::size_t bytes) {
    std::shared_ptr<const engine::Plan> &plan = plans_[name + ", " + std::to_string(bytes)];
    if (plan == nullptr) {
        engine::PlanOptions options;
        options.count = bytes / kUnseenElementBytes;
        options.element = kUnseenElementBytes;
        options.slice = kUnseenSliceBytes;
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
    call.said = {static_cast<std::uint64_t>(Collective::custom), bytes / kUnseenElementBytes};
    call.fingerprint =
        mix(mix(mix(segment_->header().key, call.said.what), call.said.count), plan->identity);
    engine::Tally tally;
    engine_.play(call, tally);
}

} // namespace stretto::comm

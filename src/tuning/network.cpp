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
#include "select/profile_json.hpp"
#include "tuning/measurement.hpp"
#include "tuning/network.hpp"

namespace stretto::tuning {

bool names_profile(const Config::Tuning &config) {
    const std::string &wanted = config.file;
    return !wanted.empty() && wanted != "off" && wanted != "assumed" && wanted != "thorough";
}

namespace {

// Rank 0's.  Between hosts one that is not given is measured, by all ranks.
select::Profile profile_of_job(const Config::Tuning &config, const transport::Segment &segment,
                               int rank, calls::InternalCalls &calls) {
    select::Profile profile;
    if (rank == 0 && names_profile(config))
        profile = select::load_profile(config.file);
    if (segment.placement().one_host())
        return profile;
    const bool given = names_profile(config) ? profile.of_links : config.file == "assumed";
    std::array<std::uint64_t, 1> measure = {given ? 0u : 1u};
    send_to_all(calls, segment.ranks(), "whether to measure", measure.data(), sizeof measure);
    if (measure[0] == 0)
        return profile;
    const bool thorough = config.file == "thorough";
    select::Profile found = measure_network(
        segment, rank, thorough ? Thoroughness::thorough : Thoroughness::brief, calls);
    if (!profile.calls.empty())
        found.source += "; calls: " + profile.source;
    found.calls = std::move(profile.calls);
    found.concurrency = std::move(profile.concurrency);
    return found;
}

// Rank 0's profile, to all: first how long it is.
select::Profile as_rank_0_has_it(const select::Profile &profile, int ranks, int rank,
                                 calls::InternalCalls &calls) {
    std::string text;
    if (rank == 0 && profile != select::Profile{})
        text = select::to_json(profile, "");
    std::array<std::uint64_t, 2> bytes = {profile.source.size(), text.size()};
    send_to_all(calls, ranks, "bytes of the profile", bytes.data(), sizeof bytes);
    const auto [of_source, of_json] = bytes;
    if (of_json == 0)
        return {};
    text += profile.source;
    text.resize((of_source + of_json + calls::kInternalElementBytes - 1) /
                calls::kInternalElementBytes * calls::kInternalElementBytes);
    send_to_all(calls, ranks, "profile", text.data(), text.size());
    select::Profile read = select::profile_from_json(std::string_view(text).substr(0, of_json));
    read.source = text.substr(of_json, of_source);
    return read;
}

} // namespace

select::Profile agree_on_network(const Config::Tuning &config, const transport::Segment &segment,
                                 int rank, calls::InternalCalls &calls) {
    return as_rank_0_has_it(profile_of_job(config, segment, rank, calls), segment.ranks(), rank,
                            calls);
}

} // namespace stretto::tuning

// SPDX-License-Identifier: BSD-3-Clause
// Profiles of networks: any text is refused as a wrong argument, or its numbers are plausible, and
// it is written and read again as the same.
#include "base/status.hpp"
#include "fuzz.hpp"
#include "select/profile_json.hpp"

using namespace stretto;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    select::Profile profile;
    try {
        profile = select::profile_from_json(fuzz::text_of(data, size));
    } catch (const Error &error) {
        must(error.status() == Status::argument, "a text is refused as a wrong argument");
        return 0;
    }
    for (const cost::Link &link : {profile.inside, profile.between})
        must(select::kLatencies.hold(link.latency) && select::kOverheads.hold(link.overhead) &&
                 select::kBytes.hold(link.byte) && select::kReductions.hold(link.reduce),
             "numbers are plausible");
    for (const select::Measured &each : profile.calls)
        for (const select::Timing &timing : each.times)
            must(select::kCalls.hold(timing.seconds) && select::kSkews.hold(timing.skew),
                 "times are plausible");
    for (const cost::Concurrency &each : {profile.concurrency.inside, profile.concurrency.between})
        for (const cost::Concurrency::Row &row : each.rows) {
            must(row.relative.size() == each.pairs.size() && row.relative[0] == 1,
                 "a number for each number of pairs");
            for (const int pairs : each.pairs)
                must(cost::relative_throughput(each, pairs, row.bytes) > 0 &&
                         cost::throughput(each, pairs, row.bytes) > 0,
                     "pairs move something");
        }
    must(select::profile_from_json(select::to_json(profile, "")) == profile,
         "what is written is read as the same");
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Calls to which some ranks come late, and nobody can say who (select/elected.hpp).
//
// Whoever comes asks the arbiter of the call who is late, and the arbiter's agent, which so hears
// who has come, answers when only the late ones are missing.  What it says is sealed, as all that
// one rank decides for others: it is the same for all, and who comes late finds it there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrival/latecomers.hpp"
#include "base/settings.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"
#include "select/elected.hpp"

namespace stretto::comm {

std::uint64_t Communicator::patience() {
    constexpr std::uint64_t kLongestNs = 1'000'000'000; // ns
    const std::uint64_t timeout = nanoseconds(Setting::timeout);
    return timeout == 0 ? kLongestNs : std::min(kLongestNs, timeout / 2);
}

// What was sealed, by the arbiter of these calls.  While this rank waits, what others send to it
// goes on.
std::string Communicator::sealed(std::uint64_t key, const ArrivalState &watched) {
    return joined_.reach.watch->sealed(key, arbiter_of(watched),
                                       [this] { (void)messenger_.progress(); });
}

// At the arbiter, for the next call.
void Communicator::call_the_roll(const ArrivalState &watched) {
    const select::Late &serves = watched.serves;
    std::vector<int> ranks = joined_.reach.ranks;
    std::ranges::sort(ranks);
    const auto latecomers = std::make_shared<arrival::Latecomers>(
        std::move(ranks), static_cast<std::size_t>(serves.latecomers),
        static_cast<std::uint64_t>(serves.margin * 1e9), patience());
    joined_.reach.watch->decide_by(
        key_of(watched, Asked::call), [latecomers](const FailureDetector::Heard &heard) {
            if (heard.from != control::kNoRank)
                latecomers->came(heard.from, heard.now);
            const auto late = latecomers->who(heard.now);
            if (!late)
                return control::Answer::not_before(latecomers->due());
            arrival::Deviations who;
            for (const int rank : *late)
                who[rank] = 0; // how late, nobody knows
            return control::Answer(arrival::to_text(who, control::kMostSealBytes));
        });
}

void Communicator::serve_by_election(const Request &request, ArrivalState &watched) {
    const std::uint64_t key = key_of(watched, Asked::call);
    const std::string text = sealed(key, watched);
    forget_sealed(key, watched);
    Chosen chosen = balanced(request, watched);
    if (!text.empty()) {
        std::vector<int> late;
        for (const auto &[job_rank, unknown] : arrival::deviations_from(text)) {
            const auto &ranks = joined_.reach.ranks;
            late.push_back(static_cast<int>(std::ranges::find(ranks, job_rank) - ranks.begin()));
        }
        serve_late({.algorithm = watched.serves.algorithm,
                    .order = select::late_last(size(), late),
                    .why = watched.serves.why},
                   chosen);
    }
    watched.told.serves = true;
    serve(request, site(request), chosen);
}

} // namespace stretto::comm

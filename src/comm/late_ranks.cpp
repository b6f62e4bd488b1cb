// SPDX-License-Identifier: BSD-3-Clause
// Calls of ranks that share memory, to which one comes late: whoever is missing when all others
// have come gets the last place of late_last (transport/late_rank_detector.hpp,
// select/late_rank_choice.hpp).
//
// Nothing is predicted and nothing sealed: a word that all see says who it is, and what calls took,
// which all see too, whether that pays.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "select/elected.hpp"

namespace stretto::comm {

static constexpr std::string_view kServes = "late_last";

bool Communicator::made_for_musters(const Chosen &chosen) {
    return algorithms::name_in(chosen.algorithm) == kServes;
}

// What serves where that rank comes last, or none does.
Chosen Communicator::elected(const Request &request, ArrivalState &watched) {
    Chosen chosen = balanced(request, watched);
    if (watched.latecomer == transport::LateRankDetector::kNoRank)
        return chosen;
    serve_late({.algorithm = chosen.forced ? chosen.algorithm : std::string(kServes),
                .order = select::late_last(size(), std::array{watched.latecomer}),
                .why = "one rank comes later than the others, and which, the call shows"},
               chosen);
    return chosen;
}

void Communicator::play_mustered(const Request &request, ArrivalState &watched) {
    const std::size_t planned = plan_bytes_;
    const bool forced = balanced(request, watched).forced;
    const bool waits = forced || watched.late_rank_choice.waits();
    late_rank_detector_.come(now_ns());
    const int latecomer =
        waits ? late_rank_detector_.latecomer(watched.late_rank_choice.grace(), patience(),
                                              [this] { (void)messenger_.progress(); })
              : transport::LateRankDetector::kNoRank;
    if (latecomer != std::exchange(watched.latecomer, latecomer))
        serve(request, site(request), elected(request, watched));
    CallEntry &here = site(request);
    engine::Call made = call(request, here, false);
    // Who does not count itself in makes another call.
    made.said.what = here.what | kAsRanksArriveFlag;
    made.fingerprint = mix(made.fingerprint, kAsRanksArriveFlag);
    queue_.play(made, here.tally);
    // A call for which plans were made says little of what others take.
    late_rank_detector_.leave(now_ns(), plan_bytes_ == planned);
    // What the last such call took, which may have been of another kind, is known only now.
    if (late_ranks_ != nullptr)
        late_ranks_->late_rank_choice.took(late_rank_detector_.last_took());
    late_ranks_ = &watched;
    watched.late_rank_choice.add(late_rank_detector_.gap(),
                                 latecomer != transport::LateRankDetector::kNoRank);
}

} // namespace stretto::comm

// SPDX-License-Identifier: BSD-3-Clause
#include "comm/lessons.hpp"

#include "algorithms/algorithm.hpp"
#include "select/placed.hpp"

namespace stretto::comm {

void Lessons::learn(const Lesson &lesson, const select::Situation &situation) {
    const select::Placed placed(situation, lesson.algorithm, lesson.order);
    const std::vector<select::Arrivals> cases{lesson.came};
    const auto ratio = select::ratio_of(lesson.came, placed.means(cases).front(), lesson.elapsed);
    if (!ratio)
        return;
    std::deque<double> &ratios = told_[std::string(algorithms::name_in(placed.name()))];
    ratios.push_back(*ratio);
    if (ratios.size() > kMost)
        ratios.pop_front();
}

select::Experience Lessons::all() const {
    select::Experience experience = usual_;
    for (const auto &[algorithm, ratios] : told_)
        for (const double ratio : ratios)
            experience.learn(algorithm, ratio);
    return experience;
}

} // namespace stretto::comm

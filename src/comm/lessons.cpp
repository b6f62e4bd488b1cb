// SPDX-License-Identifier: BSD-3-Clause
#include "comm/lessons.hpp"

#include "select/placed.hpp"

namespace stretto::comm {

void Lessons::learn(const Lesson &lesson, const select::Situation &situation) {
    const select::Placed placed(situation, lesson.algorithm, lesson.order);
    const std::vector<select::Arrivals> cases{lesson.came};
    const auto ratio = select::ratio_of(lesson.came, placed.means(cases).front(), lesson.elapsed);
    if (!ratio)
        return;
    told_.emplace_back(placed.name(), *ratio);
    if (told_.size() > kMost)
        told_.pop_front();
}

select::Experience Lessons::all() const {
    select::Experience experience = usual_;
    for (const auto &[algorithm, ratio] : told_)
        experience.learn(algorithm, ratio);
    return experience;
}

} // namespace stretto::comm

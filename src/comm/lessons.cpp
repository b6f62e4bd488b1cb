// SPDX-License-Identifier: BSD-3-Clause
#include "comm/lessons.hpp"

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
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

bool Lessons::pays(double waits, std::size_t ranks) const {
    constexpr double kPart = 0.25;
    return kPart * waits * static_cast<double>(ranks) >= pricing_;
}

select::Late Lessons::priced(const std::function<select::Late()> &decide) {
    const std::uint64_t start = now_ns();
    select::Late late = decide();
    pricing_ = static_cast<double>(now_ns() - start) * 1e-9;
    return late;
}

} // namespace stretto::comm

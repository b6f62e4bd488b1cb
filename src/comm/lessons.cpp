// SPDX-License-Identifier: BSD-3-Clause
#include "comm/lessons.hpp"

#include <algorithm>
#include <ctime>

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

bool Lessons::pays(double waits, std::size_t ranks) {
    constexpr double kPart = 0.25, kPatience = 0.875;
    if (kPart * waits * static_cast<double>(ranks) >= pricing_)
        return true;
    pricing_ *= kPatience;
    return false;
}

// Of this thread: a busy machine makes no price dearer.
static double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

select::Late Lessons::priced(Kind kind, double waits, const select::Late &serves,
                             const std::function<select::Late()> &decide) {
    const double start = processor_seconds();
    const std::uint64_t began = now_ns();
    select::Late late = decide();
    pricing_ = processor_seconds() - start;
    const bool is_balanced = late.algorithm.empty();
    const bool in_vain = late.same_as(serves) && (kind == call || is_balanced);
    rests_[kind].begin(began, now_ns(), waits, in_vain);
    return late;
}

bool Rest::over(double waits) const {
    constexpr double kNew = 2;
    return now_ns() >= end_ || (in_vain_ > 0 && waits > kNew * waits_);
}

void Rest::begin(std::uint64_t from, std::uint64_t to, double waits, bool in_vain) {
    waits_ = in_vain ? std::max(waits_, waits) : 0;
    in_vain_ = in_vain ? std::min(in_vain_ + 1, kMost) : 0;
    end_ = to + (to - from) * (in_vain ? times_ << in_vain_ : of_use_);
}

} // namespace stretto::comm

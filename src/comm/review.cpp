// SPDX-License-Identifier: BSD-3-Clause
#include "comm/review.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status.hpp"
#include "select/elected.hpp"
#include "select/placed.hpp"

namespace stretto::comm {

namespace {

// Of the last ones, by which this rank learns what the model makes of them.
void learn(const Review &review) {
    const std::size_t count = review.served;
    std::vector<select::Arrivals> cases;
    std::vector<double> elapsed;
    for (std::size_t at = review.recent.size() - 1 - count; at + 1 < review.recent.size(); ++at) {
        if (review.serves.latecomers == 0) {
            cases.push_back(review.recent[at]);
            elapsed.push_back(review.elapsed[at]);
            continue;
        }
        select::Elected call =
            select::elected(review.recent[at], {review.serves.latecomers, review.serves.margin});
        if (!call.late) // the balanced choice has served
            continue;
        cases.push_back(std::move(call.begin));
        elapsed.push_back(review.elapsed[at] - call.waited);
    }
    if (cases.empty())
        return;
    const select::Placed placed(review.situation,
                                review.serves.algorithm.empty() ? review.balanced
                                                                : review.serves.algorithm,
                                review.serves.order);
    review.lessons->usual().learn(placed.name(), cases, placed.means(cases), elapsed);
}

// A number as it is, to the last bit.
std::string exactly(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::hex).ptr};
}

constexpr std::string_view kAsSoFar = "=";

} // namespace

std::string Review::decide(std::size_t most_bytes) const {
    if (served > 0)
        learn(*this);
    const double waits = std::max(select::wait(expected), select::wait(select::shape_of(recent)));
    if (!lessons->pays(waits, expected.size()))
        return "";
    const select::Late next = lessons->priced([&] {
        return choose_late(situation, balanced, expected, recent, serves, lessons->usual());
    });
    std::string text = exactly(next.margin) + "\n" + std::to_string(next.latecomers) + "\n";
    text.append(next.same_as(serves) ? kAsSoFar : next.algorithm).append("\n");
    if (text.size() > most_bytes)
        return "";
    return text + next.why.substr(0, most_bytes - text.size());
}

select::Late reviewed(std::string_view text, const select::Late &serves,
                      const select::Arrivals &expected) {
    if (text.empty())
        return serves;
    const std::size_t first = text.find('\n'), second = text.find('\n', first + 1),
                      third = text.find('\n', second + 1);
    select::Late next;
    const char *const begin = text.data(), *const end = begin + text.size();
    const auto margin = std::from_chars(begin, end, next.margin, std::chars_format::hex);
    const auto count =
        std::from_chars(begin + std::min(first + 1, text.size()), end, next.latecomers);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        third == std::string_view::npos || margin.ec != std::errc() ||
        margin.ptr != begin + first || count.ec != std::errc() || count.ptr != begin + second)
        throw Error(Status::internal,
                    "'" + std::string(text) + "' does not say what serves from now on");
    next.algorithm = text.substr(second + 1, third - second - 1);
    next.why = text.substr(third + 1);
    if (next.algorithm == kAsSoFar) {
        next.algorithm = serves.algorithm;
        next.order = serves.order;
    } else if (!next.algorithm.empty() && next.latecomers == 0) {
        next.order = select::sorted_by_arrival(expected, next.margin);
    }
    return next;
}

} // namespace stretto::comm

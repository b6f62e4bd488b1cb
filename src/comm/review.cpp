// SPDX-License-Identifier: BSD-3-Clause
#include "comm/review.hpp"

#include <charconv>
#include <span>

#include "base/status.hpp"
#include "select/placed.hpp"

namespace stretto::comm {

namespace {

// Of the last ones, by which this rank learns what the model makes of them.
void learn(const Review &review) {
    const std::size_t count = review.served;
    const std::span<const select::Arrivals> cases =
        std::span(review.recent).last(count + 1).first(count);
    const std::span<const double> elapsed = std::span(review.elapsed).last(count + 1).first(count);
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
    if (!lessons->pays(select::wait(expected), expected.size()))
        return "";
    const select::Late next = lessons->priced([&] {
        return choose_late(situation, balanced, expected, recent, serves, lessons->usual());
    });
    const bool same = next.algorithm == serves.algorithm && next.order == serves.order;
    std::string text = exactly(next.margin) + "\n";
    text.append(same ? kAsSoFar : next.algorithm).append("\n");
    if (text.size() > most_bytes)
        return "";
    return text + next.why.substr(0, most_bytes - text.size());
}

select::Late reviewed(std::string_view text, const select::Late &serves,
                      const select::Arrivals &expected) {
    if (text.empty())
        return serves;
    const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
    select::Late next;
    const auto margin = std::from_chars(text.data(), text.data() + text.size(), next.margin,
                                        std::chars_format::hex);
    if (second == std::string_view::npos || margin.ec != std::errc() ||
        margin.ptr != text.data() + first)
        throw Error(Status::internal,
                    "'" + std::string(text) + "' does not say what serves from now on");
    next.algorithm = text.substr(first + 1, second - first - 1);
    next.why = text.substr(second + 1);
    if (next.algorithm == kAsSoFar) {
        next.algorithm = serves.algorithm;
        next.order = serves.order;
    } else if (!next.algorithm.empty()) {
        next.order = select::sorted_by_arrival(expected, next.margin);
    }
    return next;
}

} // namespace stretto::comm

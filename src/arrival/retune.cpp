// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/retune.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "arrival/detection.hpp"
#include "base/status.hpp"
#include "select/placed.hpp"

namespace stretto::arrival {

namespace {

// Of the last calls: what they took, against their price.
void record(const Retune &retune) {
    const std::size_t count = retune.by_selected;
    std::vector<cost::Arrivals> cases;
    std::vector<double> elapsed;
    for (std::size_t at = retune.recent.size() - 1 - count; at + 1 < retune.recent.size(); ++at) {
        if (retune.selected.latecomers == 0) {
            cases.push_back(retune.recent[at]);
            elapsed.push_back(retune.elapsed[at]);
            continue;
        }
        Detected call =
            detected(retune.recent[at], {retune.selected.latecomers, retune.selected.margin});
        if (!call.late) // the synchronous choice ran it
            continue;
        cases.push_back(std::move(call.begin));
        elapsed.push_back(retune.elapsed[at] - call.waited);
    }
    if (cases.empty())
        return;
    const select::Placed placed(retune.situation,
                                retune.selected.algorithm.empty() ? retune.synchronous
                                                                  : retune.selected.algorithm,
                                retune.selected.order);
    retune.feedback->steady().learn(retune.selected.latecomers == 0 ? placed.name()
                                                                    : when_detected(placed.name()),
                                    cases, placed.means(cases), elapsed);
}

// A number as it is, to the last bit.
std::string exactly(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::hex).ptr};
}

constexpr std::string_view kAsSoFar = "=";

// Of an order that only the coordinator can know: the ranks behind those that come in the order of
// their numbers.
std::string ranks_behind(const select::Situation &situation, std::vector<int> order) {
    if (schedule::rooted(situation.collective))
        std::erase(order, situation.root);
    std::string text;
    for (auto rank = std::ranges::is_sorted_until(order); rank != order.end(); ++rank)
        text += (text.empty() ? "" : " ") + std::to_string(*rank);
    return text;
}

std::vector<int> order_from(std::string_view text, const select::Situation &situation) {
    std::vector<int> behind;
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        const auto number = std::from_chars(at, end, behind.emplace_back(-1));
        if (number.ec != std::errc() || behind.back() < 0 || behind.back() >= situation.ranks ||
            (number.ptr != end && (*number.ptr != ' ' || number.ptr + 1 == end)))
            throw Error(Status::internal,
                        "'" + std::string(text) + "' does not name the ranks that come last");
        at = number.ptr == end ? end : number.ptr + 1;
    }
    std::vector<int> order = late_last(situation.ranks, behind);
    place_root(situation, order);
    return order;
}

std::string_view take_line(std::string_view &text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

template<class Number, class... Format>
bool reads(std::string_view text, Number &number, Format... format) {
    const char *const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number, format...);
    return read.ec == std::errc() && read.ptr == end;
}

} // namespace

std::string Retune::decide(std::size_t most_bytes) const {
    LateRule rule;
    rule.detection = !reported; // a rank that comes first would have to wait for others
    rule.missed = missed;
    const double waits = std::max(wait(expected), rule.detection ? wait(shape_of(recent)) : 0);
    if (!forced &&
        (feedback->backs_off(CostFeedback::rule, waits) || !feedback->pays(waits, expected.size())))
        return "";
    const auto choose = [&] {
        if (by_selected > 0)
            record(*this);
        return choose_late(situation, synchronous, expected, recent, selected, feedback->steady(),
                           rule);
    };
    const Late next = forced ? forced_late(situation, synchronous, expected, recent)
                             : feedback->priced(CostFeedback::rule, waits, 0, selected, choose);
    std::string text = exactly(next.margin) + "\n" + std::to_string(next.latecomers) + "\n";
    text.append(next.same_as(selected) ? kAsSoFar : next.algorithm).append("\n");
    text.append(reported ? ranks_behind(situation, next.order) : "").append("\n");
    if (text.size() > most_bytes)
        return "";
    return text + next.why.substr(0, most_bytes - text.size());
}

Late decoded(std::string_view text, const select::Situation &situation, const Late &selected,
             const cost::Arrivals &expected) {
    if (text.empty())
        return selected;
    Late next;
    std::string_view rest = text;
    const bool understood = std::ranges::count(text, '\n') >= 4 &&
                            reads(take_line(rest), next.margin, std::chars_format::hex) &&
                            reads(take_line(rest), next.latecomers);
    if (!understood)
        throw Error(Status::internal,
                    "'" + std::string(text) + "' does not say what runs calls from now on");
    next.algorithm = take_line(rest);
    const std::string_view behind = take_line(rest);
    next.why = rest;
    if (next.algorithm == kAsSoFar) {
        next.algorithm = selected.algorithm;
        next.order = selected.order;
    } else if (!next.algorithm.empty() && next.latecomers == 0) {
        next.order = expected.empty()
                         ? order_from(behind, situation)
                         : placed_by_arrival(situation, next.algorithm, expected, next.margin);
    }
    return next;
}

} // namespace stretto::arrival

// SPDX-License-Identifier: BSD-3-Clause
// What the coordinator's agent knows of calls to which ranks come at different times: what they
// took, against their price, and whether it pays to price more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arrival/experience.hpp"
#include "arrival/late.hpp"
#include "cost/elapsed.hpp"

namespace stretto::arrival {

// A call for which ranks announced arrivals: what ran it, when ranks came, and what it took then.
struct CostSample {
    std::string algorithm;
    std::vector<int> order;
    cost::Arrivals came;
    double elapsed = 0; // seconds, the mean over ranks; not a number if it is not known
};

// How long nothing is priced anew: eight times as long as pricing took the last time, and twice as
// long after each time in a row that it found nothing better, up to 1024 times.  So where there is
// nothing better, pricing takes a 1024th of a processor in the end.  If ranks wait twice as long as
// they did then, that is something new, and it is priced.
class Backoff {
public:
    // What pricing found: something better; what is selected already, made for late ranks; or
    // nothing better than that or than the synchronous choice.
    enum class Outcome { gained, as_before, useless };

    // `after_gain`: back-off multiplier after a successful pricing.
    explicit Backoff(std::uint64_t times = 8, std::uint64_t after_gain = 8)
        : times_(times), after_gain_(after_gain) {}

    // For ranks that wait so long, in seconds.
    bool over(double waits) const;
    // Priced for such waits from one time to another, of now_ns(): where no processor is free for
    // it all ranks are slower for it, and then it takes long.
    void begin(std::uint64_t from, std::uint64_t to, double waits, Outcome outcome);

private:
    // Doublings: what is found right again and again is still looked at, in case ranks come
    // otherwise.
    static constexpr unsigned kMostDoublings = 7, kMostAsBeforeDoublings = 3;
    std::uint64_t times_, after_gain_, end_ = 0; // by now_ns()
    unsigned in_row_ = 0;                        // times that nothing new came of it
    double waits_ = 0;                           // the longest of these times, if there are any
};

// Of calls of one kind; of the thread in the background.
class CostFeedback {
public:
    // After a decision this rests for so many times as long as it took, at least; where a rule has
    // changed, not at all, as what it is worth shows soon.
    explicit CostFeedback(std::uint64_t rest = 8)
        : backoffs_{Backoff(rest, 0), Backoff(rest, rest)} {}

    // By calls that the steady plan ran.
    Experience &steady() { return steady_; }
    void record(CostSample sample);
    // By those, and by the last calls of each algorithm for which ranks announced arrivals.
    Experience all(const select::Situation &situation);

    // Whether it pays to price plans for so many ranks that wait so long, in seconds.  Pricing
    // takes one core as long as it took the last time, and all ranks together save a part of their
    // waits at best.  A call that is refused again and again is not in the end.
    bool pays(double waits, std::size_t ranks);
    // The plan that runs calls as a rule, or that of one call for which ranks announced arrivals.
    enum Kind { rule, call };
    // For ranks that wait so long, in seconds: whether the last decision of that kind was so lately
    // that another is not worth what it takes.
    bool backs_off(Kind kind, double waits) const { return !backoffs_[kind].over(waits); }
    // Decides, and remembers how long that took.  It is useless if it finds what is selected
    // already; but a rule that is made for late ranks is looked at however often it has proved
    // right, since it costs where ranks begin to come otherwise.  `error`: how far ranks have come
    // from when they were expected, in seconds.
    Late priced(Kind kind, double waits, double error, const Late &selected,
                const std::function<Late()> &decide);
    // While decisions for calls rest: the algorithm that the last one chose, with parameters, which
    // is as good for other ranks that wait about as long; empty if that was the synchronous choice.
    // Nothing if nothing came of it, or if these wait much longer or shorter, or if ranks come much
    // farther from when they are expected, by more than a margin.
    std::optional<std::string> still_best(double waits, double error, double margin) const;

private:
    static constexpr std::size_t kMostSamples = 8;
    std::array<Backoff, 2> backoffs_; // by kind
    Experience steady_;
    struct PricedSample {
        std::optional<CostSample> unpriced;
        std::optional<double> ratio; // measured / priced
    };
    std::map<std::string, std::deque<PricedSample>, std::less<>>
        announced_;      // by the name without parameters
    double pricing_ = 0; // seconds of a processor
    struct Best {
        std::string algorithm;
        double waits, error;
    };
    std::optional<Best> best_; // for the last call that was priced, if something came of it
};

} // namespace stretto::arrival

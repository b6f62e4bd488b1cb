// SPDX-License-Identifier: BSD-3-Clause
// Surveys of links that are known: what is found, and how long it takes.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "support/text.hpp"
#include "tuning/survey.hpp"

using namespace stretto;
using cost::Link;
using tuning::Probe;
using tuning::Survey;
using tuning::Times;

namespace {

constexpr std::size_t kSlice = 65536;
constexpr double kMost = 0.5;

// A sender that now and then stands still, somewhere in a vector, for so long on average.
struct Stalls {
    double share = 0; // of the vectors
    double seconds = 0;
    unsigned seed = 7;
};

// A link whose bucket lets so many bytes pass at once, and fills at the rate of the link.  Times
// are longer by up to `noise` of them.
class Known {
public:
    Known(const Link &link, double bucket, double noise = 0, const Stalls &stalls = {})
        : link_(link), bucket_(bucket), noise_(noise), level_(bucket), stalls_(stalls),
          random_(stalls.seed) {}

    Times play(const Probe &probe) {
        Times times;
        for (std::uint32_t i = 0; i < probe.pings; ++i)
            times.pings.push_back(send(1, 8));
        for (std::uint32_t i = 0; i < probe.lead; ++i)
            times.lead.push_back(send(1, probe.large));
        for (std::uint32_t i = 0; i < probe.rounds; ++i) {
            times.small.push_back(send(1, probe.small));
            times.large.push_back(send(1, probe.large));
        }
        for (std::uint32_t i = 0; i < probe.bursts; ++i)
            times.bursts.push_back(send(tuning::kBurstMessages, 8));
        return times;
    }
    void pause(double seconds) {
        elapsed += seconds;
        level_ = std::min(bucket_, level_ + seconds / link_.byte);
    }
    double elapsed = 0;

private:
    double send(int messages, double bytes) {
        const double pieces = messages * std::ceil(bytes / kSlice);
        double time = pieces * link_.overhead + link_.latency + link_.overhead + link_.latency;
        const double before = bytes * part();
        const double waits = pass(before);
        const double stall = part() < stalls_.share ? -std::log(1 - part()) * stalls_.seconds : 0;
        pause(stall);
        const double wait = waits + pass(bytes - before);
        const double noisy = (time + wait) * (1 + noise_ * part());
        pause(noisy - wait); // the rate is used up meanwhile
        return noisy + stall;
    }
    // Seconds for which they wait for the bucket.
    double pass(double bytes) {
        const double free = std::min(level_, bytes);
        level_ -= free;
        elapsed += (bytes - free) * link_.byte;
        return (bytes - free) * link_.byte;
    }
    double part() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    const Link link_;
    const double bucket_, noise_;
    double level_;
    const Stalls stalls_;
    std::minstd_rand random_;
};

constexpr Link kAssumed{4e-5, 2e-5, 8.5e-9, 1e-10};

struct Found {
    Link link;
    std::string how;
    double seconds;
};

Found survey(Known network) {
    Survey made;
    for (;;) {
        const Probe probe = made.next(kMost - network.elapsed);
        if (probe == tuning::kNoProbe)
            break;
        made.took(probe, network.play(probe));
        network.pause(2e-4); // the next order
    }
    Found found{{}, "", network.elapsed};
    found.link = made.link(kAssumed, kSlice, found.how);
    return found;
}

} // namespace

TEST_CASE("links of all kinds are found as they are, soon enough") {
    struct Case {
        const char *name;
        Link link;
        double bucket, most; // seconds
    };
    const Case cases[] = {
        {"memory", {2e-7, 3e-7, 1e-10}, 0, 0.005},
        {"100 Gbit/s", {2e-6, 3e-6, 8e-11}, 131072, 0.005},
        {"10 Gbit/s", {1e-5, 5e-6, 8e-10}, 131072, 0.02},
        {"1 Gbit/s", {2e-5, 1e-5, 8.5e-9}, 131072, 0.06},
        {"100 Mbit/s", {2e-5, 1e-5, 8.5e-8}, 131072, 0.2},
        {"25 Mbit/s", {2e-5, 1e-5, 3.4e-7}, 8192, 0.2},
        {"10 Gbit/s, 400 times slower", {1.2e-2, 2e-5, 3.4e-7}, 8192, 0.35},
        {"wide", {2e-2, 1e-5, 8.5e-9}, 131072, 0.5},
        {"slow in all", {1.2e-2, 1e-4, 4e-6}, 8192, 0.5},
    };
    for (const Case &each : cases) {
        CAPTURE(each.name);
        const Found found = survey(Known(each.link, each.bucket));
        CAPTURE(found.how);
        const double alpha = each.link.latency + each.link.overhead;
        CHECK(found.link.latency + found.link.overhead == doctest::Approx(alpha).epsilon(0.02));
        CHECK(found.link.overhead == doctest::Approx(each.link.overhead).epsilon(0.1));
        CHECK(found.link.byte == doctest::Approx(each.link.byte).epsilon(0.15));
        CHECK(found.seconds < each.most);
        CHECK(!test::contains(found.how, "assumed"));
    }
}

TEST_CASE("disturbances do little") {
    const Link link{2e-5, 1e-5, 8.5e-9};
    const Found found = survey(Known(link, 131072, 0.3));
    CHECK(found.link.latency + found.link.overhead == doctest::Approx(3e-5).epsilon(0.15));
    CHECK(found.link.byte == doctest::Approx(8.5e-9).epsilon(0.3));
    CHECK(found.link.overhead <= found.link.latency + found.link.overhead);
}

TEST_CASE("a sender that stands still while the bucket fills") {
    struct Case {
        const char *name;
        Link link;
        Stalls stalls;
        int most; // surveys of 200 that are off by a fifth
    };
    const Case cases[] = {
        {"100 Mbit/s, seldom", {2e-5, 1e-5, 8.5e-8}, {0.05, 2e-2}, 2},
        {"100 Mbit/s, briefly", {2e-5, 1e-5, 8.5e-8}, {0.2, 5e-3}, 4},
        {"1 Gbit/s", {2e-5, 1e-5, 8.5e-9}, {0.05, 5e-3}, 2},
    };
    for (const Case &each : cases) {
        CAPTURE(each.name);
        int off = 0;
        double least = 1;
        for (unsigned seed = 1; seed <= 200; ++seed) {
            Stalls stalls = each.stalls;
            stalls.seed = seed;
            const double found = survey(Known(each.link, 131072, 0, stalls)).link.byte;
            least = std::min(least, found / each.link.byte);
            if (std::abs(found - each.link.byte) > each.link.byte / 5)
                ++off;
        }
        CHECK(off <= each.most);
        CHECK(least > 0.6); // what the bucket holds, of the bytes of a round
    }
}

TEST_CASE("what makes no sense is assumed, and the words say so") {
    Survey made;
    const Probe probe = made.next(kMost);
    CHECK(probe.pings > 0);
    Times times; // a long stream that is faster than a short one, and times of nothing
    times.pings.assign(probe.pings, 0);
    times.bursts.assign(probe.bursts, 0);
    times.small.assign(probe.rounds, 2e-3);
    times.large.assign(probe.rounds, 1e-3);
    made.took(probe, times);
    std::string how;
    const Link link = made.link(kAssumed, kSlice, how);
    CHECK(link == kAssumed);
    CHECK(test::contains(how, "assumed: latency, overhead, byte"));
}

TEST_CASE("a burst that costs more than round trips leaves no negative latency") {
    Survey made;
    const Probe probe = made.next(kMost);
    Times times;
    times.pings.assign(probe.pings, 2e-5);
    times.bursts.assign(probe.bursts, 1);
    times.small.assign(probe.rounds, 1e-4);
    times.large.assign(probe.rounds, 2e-4);
    made.took(probe, times);
    std::string how;
    const Link link = made.link(kAssumed, kSlice, how);
    CHECK(link.latency == 0);
    CHECK(link.overhead == doctest::Approx(1e-5));
}

TEST_CASE("without time only the first probe is made") {
    Survey made;
    const Probe probe = made.next(-1);
    CHECK(probe != tuning::kNoProbe);
    Times times;
    times.pings.assign(probe.pings, 0.1);
    times.bursts.assign(probe.bursts, 0.2);
    times.small.assign(probe.rounds, 0.2);
    times.large.assign(probe.rounds, 0.3);
    made.took(probe, times);
    CHECK(made.next(-1) == tuning::kNoProbe);
    CHECK(made.next(1) == tuning::kNoProbe);
}

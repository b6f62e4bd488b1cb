// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/mesh.hpp"

#include <algorithm>
#include <poll.h>
#include <sstream>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "comm/meeting.hpp"
#include "control/net_links.hpp"

namespace stretto::comm {

namespace {

using net::ConnectionKind;

// Calls that a rank makes at a time.  Among many ranks all at once would be P^2 / 2 handshakes,
// each of which waits for all the others' at the processors and links, and those that take too long
// for it would begin again.
constexpr std::ptrdiff_t kAtOnce = 16;

class Weaver {
public:
    Weaver(const Identity &me, const Reach &reach, std::uint64_t epoch,
           const transport::Placement &placement, Kinds kinds)
        : me_(me), reach_(reach), epoch_(epoch), placement_(placement) {
        mesh_.data.resize(static_cast<std::size_t>(reach.lobby->channels()));
        for (int channel = 0; channel < reach.lobby->channels(); ++channel)
            lines_.push_back({ConnectionKind::data, static_cast<std::uint16_t>(channel)});
        if (kinds == Kinds::data_and_control)
            lines_.push_back({ConnectionKind::control, 0});
        for (const Line line : lines_)
            of(line).resize(static_cast<std::size_t>(me.size));
        // The next lower rank first: so no rank is the first that all others call.
        for (int rank = me.rank - 1; rank >= 0; --rank)
            for (const Line line : lines_)
                if (wanted(line, rank))
                    calls_.push_back({line, rank, reach.lobby->call(line, in_job(rank), epoch)});
    }

    void go_on() {
        reach_.lobby->progress();
        for (const Line line : lines_)
            for (int rank = me_.rank + 1; rank < me_.size; ++rank)
                if (wanted(line, rank))
                    if (auto opened = reach_.lobby->take(line, in_job(rank), epoch_))
                        add(line, rank, std::move(*opened));
        call_on();
    }

    void wait(int milliseconds) const {
        std::vector<pollfd> descriptors{{reach_.lobby->descriptor(), POLLIN, 0}};
        for (const Call &call : calls_)
            if (call.dialer->tries_now())
                descriptors.push_back(call.dialer->waits_for());
        (void)poll(descriptors.data(), descriptors.size(), milliseconds);
    }

    std::vector<int> missing() {
        std::vector<int> ranks;
        for (int rank = 0; rank < me_.size; ++rank)
            if (std::any_of(lines_.begin(), lines_.end(), [&](Line line) {
                    return wanted(line, rank) &&
                           of(line)[static_cast<std::size_t>(rank)] == nullptr;
                }))
                ranks.push_back(rank);
        return ranks;
    }
    const net::Address &address(int rank) const { return reach_.lobby->address(in_job(rank)); }

    Mesh take() { return std::move(mesh_); }

private:
    struct Call {
        Line line;
        int rank;
        std::unique_ptr<net::Dialer> dialer;
    };

    int in_job(int rank) const { return reach_.ranks[static_cast<std::size_t>(rank)]; }
    Connections &of(Line line) {
        return line.kind == ConnectionKind::data ? mesh_.data[line.channel] : mesh_.control;
    }
    bool wanted(Line line, int rank) const {
        return rank != me_.rank && (line.kind == ConnectionKind::control || !placement_.here(rank));
    }

    // A call that rests between two tries has no place: who cannot be reached keeps nobody waiting.
    void call_on() {
        const auto tries_now = [](const Call &call) { return call.dialer->tries_now(); };
        std::ptrdiff_t places = kAtOnce - std::ranges::count_if(calls_, tries_now);
        for (Call &call : calls_) {
            const bool had_place = tries_now(call);
            if (!had_place && places == 0)
                continue;
            switch (call.dialer->progress(now_ns())) {
            case net::Dialer::State::failed: throw call.dialer->failure();
            case net::Dialer::State::trying:
                places += (had_place ? 1 : 0) - (tries_now(call) ? 1 : 0);
                continue;
            case net::Dialer::State::open: break;
            }
            places += had_place ? 1 : 0;
            add(call.line, call.rank, call.dialer->take());
            call.dialer.reset();
        }
        std::erase_if(calls_, [](const Call &call) { return call.dialer == nullptr; });
    }

    // Who calls a second time has given up the first call.
    void add(Line line, int rank, net::Opened opened) {
        const net::ConnectionLimits limits = line.kind == ConnectionKind::control
                                                 ? control::NetLinks::limits(me_.size)
                                                 : net::ConnectionLimits{};
        of(line)[static_cast<std::size_t>(rank)] = std::make_unique<net::Connection>(
            std::move(opened.socket),
            net::Peer{static_cast<std::uint32_t>(rank), host_named(in_job(rank)), opened.peer},
            limits);
    }

    const Identity &me_;
    const Reach &reach_;
    const std::uint64_t epoch_;
    const transport::Placement &placement_;
    std::vector<Line> lines_;
    std::vector<Call> calls_;
    Mesh mesh_;
};

Error too_late(const Identity &me, const Weaver &weaver, const std::vector<int> &missing,
               const std::string &seconds) {
    std::string who;
    for (const int rank : missing)
        who += " " + std::to_string(rank) + " at " + weaver.address(rank).text();
    return Error(Status::timeout,
                 "rank " + std::to_string(me.rank) + " has no connection to rank(s)" + who +
                     " after " + seconds + from_here(weaver.address(missing.front())) +
                     (me.address.empty()
                          ? "; all ranks of the new communicator must call " + me.launcher
                          : "; does a firewall keep the hosts from one another, or is another "
                            "interface needed (STRETTO_IFACE)?"));
}

} // namespace

std::string host_named(int rank) {
    const std::string names = text(Setting::hosts);
    const auto commas = std::count(names.begin(), names.end(), ',');
    std::istringstream list(names);
    std::string name;
    for (auto skip = rank % (commas + 1); skip >= 0; --skip)
        std::getline(list, name, ',');
    return name;
}

Mesh connect_all(const Identity &me, const Reach &reach, std::uint64_t epoch,
                 const transport::Placement &placement, Kinds kinds,
                 const std::function<void()> &watch, const Patience &patience) {
    Weaver weaver(me, reach, epoch, placement, kinds);
    for (;;) {
        weaver.go_on();
        const std::vector<int> missing = weaver.missing();
        if (missing.empty())
            return weaver.take();
        watch();
        if (patience.ended())
            throw too_late(me, weaver, missing, patience.seconds());
        constexpr int kMilliseconds = 5;
        weaver.wait(kMilliseconds);
    }
}

} // namespace stretto::comm

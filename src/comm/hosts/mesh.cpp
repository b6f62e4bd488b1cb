// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/mesh.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sstream>
#include <string>
#include <utility>

#include "base/call_scope.hpp"
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

    bool complete() const { return calls_.empty() && awaited().empty(); }
    // If others could not connect to this rank, which had no descriptor for them, it will not come
    // about by itself.
    void check_descriptors(const Patience &patience) {
        constexpr std::uint64_t kLongEnough = 2'000'000'000; // ns
        if (reach_.lobby->refused(net::Refusal::descriptors) == 0 || awaited().empty())
            return;
        if (short_since_ == 0)
            short_since_ = now_ns();
        if (now_ns() - short_since_ < kLongEnough && !patience.ended())
            return;
        errno = EMFILE;
        throw_errno(rank_here(me_.rank) + " cannot let in rank(s)" + listed(awaited()));
    }
    // What this rank lacks, and what it knows of why.
    Error too_late(const Patience &patience) const {
        constexpr int kMost = 3; // ranks of which the sentence speaks
        std::string lacks;
        int number = 0, last = -1;
        for (const Call &call : calls_) {
            if (call.rank != std::exchange(last, call.rank) && ++number <= kMost)
                lacks += (number > 1 ? ", " : "to rank(s) ") + std::to_string(call.rank) + " at " +
                         address(call.rank).text() + " (" + call.dialer->so_far() + ")";
        }
        if (number > kMost)
            lacks += " and " + std::to_string(number - kMost) + " more";
        const std::vector<int> others = awaited();
        if (!others.empty())
            lacks += (lacks.empty() ? "from" : "; from") + std::string(" rank(s)") +
                     listed(others) + " (no call has come to " + address(me_.rank).text() + ")";
        const int first = calls_.empty() ? others.front() : calls_.front().rank;
        return Error(Status::timeout,
                     rank_here(me_.rank) + " lacks connections after " + patience.seconds() + ": " +
                         lacks + from_here(address(first)) +
                         (me_.address.empty()
                              ? "; all ranks of the new communicator must call " + me_.launcher
                              : "; does a firewall keep the hosts from one another (STRETTO_PORTS "
                                "keeps the ranks' ports in a range that it can let through), or is "
                                "another interface needed (STRETTO_IFACE)?"));
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
    const Connections &of(Line line) const {
        return line.kind == ConnectionKind::data ? mesh_.data[line.channel] : mesh_.control;
    }
    // Ranks whose calls have not come.
    std::vector<int> awaited() const {
        std::vector<int> ranks;
        for (int rank = me_.rank + 1; rank < me_.size; ++rank)
            if (std::any_of(lines_.begin(), lines_.end(), [&](Line line) {
                    return wanted(line, rank) &&
                           of(line)[static_cast<std::size_t>(rank)] == nullptr;
                }))
                ranks.push_back(rank);
        return ranks;
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
    std::uint64_t short_since_ = 0; // of descriptors; 0: it is not
    Mesh mesh_;
};

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
        if (weaver.complete())
            return weaver.take();
        watch();
        interruption_point();
        weaver.check_descriptors(patience);
        if (patience.ended())
            throw weaver.too_late(patience);
        constexpr int kMilliseconds = 5;
        weaver.wait(kMilliseconds);
    }
}

} // namespace stretto::comm

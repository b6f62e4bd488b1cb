// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/mesh.hpp"

#include <poll.h>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "comm/meeting.hpp"

namespace stretto::comm {

namespace {

constexpr net::ConnectionKind kKind = net::ConnectionKind::data;

class Weaver {
public:
    Weaver(const Identity &me, const Reach &reach, std::uint64_t epoch,
           const transport::Placement &placement)
        : me_(me), reach_(reach), epoch_(epoch), placement_(placement),
          connections_(static_cast<std::size_t>(me.size)) {
        for (int rank = 0; rank < me.rank; ++rank)
            if (!placement.here(rank))
                calls_.push_back({rank, reach.lobby->call(kKind, in_job(rank), epoch)});
    }

    void go_on() {
        reach_.lobby->progress();
        for (int rank = me_.rank + 1; rank < me_.size; ++rank)
            if (!placement_.here(rank))
                if (auto opened = reach_.lobby->take(kKind, in_job(rank), epoch_))
                    add(rank, std::move(*opened));
        for (Call &call : calls_) {
            switch (call.dialer->progress(now_ns())) {
            case net::Dialer::State::trying: continue;
            case net::Dialer::State::failed: throw call.dialer->failure();
            case net::Dialer::State::open: break;
            }
            add(call.rank, call.dialer->take());
            call.dialer.reset();
        }
        std::erase_if(calls_, [](const Call &call) { return call.dialer == nullptr; });
    }

    void wait(int milliseconds) const {
        std::vector<pollfd> descriptors{{reach_.lobby->descriptor(), POLLIN, 0}};
        for (const Call &call : calls_)
            if (call.dialer->waits_for().fd >= 0)
                descriptors.push_back(call.dialer->waits_for());
        (void)poll(descriptors.data(), descriptors.size(), milliseconds);
    }

    std::vector<int> missing() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < me_.size; ++rank)
            if (!placement_.here(rank) && connections_[static_cast<std::size_t>(rank)] == nullptr)
                ranks.push_back(rank);
        return ranks;
    }
    const net::Address &address(int rank) const { return reach_.lobby->address(in_job(rank)); }

    Connections take() { return std::move(connections_); }

private:
    struct Call {
        int rank;
        std::unique_ptr<net::Dialer> dialer;
    };

    int in_job(int rank) const { return reach_.ranks[static_cast<std::size_t>(rank)]; }

    // Who calls a second time has given up the first call.
    void add(int rank, net::Opened opened) {
        connections_[static_cast<std::size_t>(rank)] = std::make_unique<net::Connection>(
            std::move(opened.socket), net::Peer{static_cast<std::uint32_t>(rank), "", opened.peer});
    }

    const Identity &me_;
    const Reach &reach_;
    const std::uint64_t epoch_;
    const transport::Placement &placement_;
    std::vector<Call> calls_;
    Connections connections_;
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

Connections connect_all(const Identity &me, const Reach &reach, std::uint64_t epoch,
                        const transport::Placement &placement, const std::function<void()> &watch) {
    Weaver weaver(me, reach, epoch, placement);
    const Patience patience(nullptr);
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

// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/weaver.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "bootstrap/network/local_route.hpp"
#include "bootstrap/phrases.hpp"

namespace stretto::bootstrap {

using net::ConnectionKind;

Weaver::Weaver(std::shared_ptr<ConnectionAcceptor> acceptor, transport::Group group,
               std::vector<Line> lines, net::ConnectionLimits limits)
    : acceptor_(std::move(acceptor)), group_(std::move(group)), lines_(std::move(lines)),
      limits_(limits), connections_(lines_.size()) {
    for (Connections &each : connections_)
        each.resize(group_.in_job.size());
    // The next lower rank first: so no rank is the first that all others call.
    for (int rank = group_.rank - 1; rank >= 0; --rank)
        for (std::size_t line = 0; line < lines_.size(); ++line)
            if (wanted(line, rank))
                calls_.push_back(
                    {line, rank, acceptor_->call(lines_[line], in_job(rank), group_.epoch)});
}

void Weaver::progress() {
    acceptor_->progress();
    for (std::size_t line = 0; line < lines_.size(); ++line)
        for (int rank = group_.rank + 1; rank < size(); ++rank)
            if (wanted(line, rank))
                if (auto opened = acceptor_->take(lines_[line], in_job(rank), group_.epoch))
                    add(line, rank, std::move(*opened));
    call_on();
}

void Weaver::waits_for(std::vector<pollfd> &descriptors) const {
    descriptors.push_back({acceptor_->descriptor(), POLLIN, 0});
    for (const Call &call : calls_)
        if (call.connector->tries_now())
            descriptors.push_back(call.connector->waits_for());
}

// If others could not connect to this rank, which had no descriptor for them, it will not come
// about by itself.
void Weaver::check(bool over) {
    constexpr std::uint64_t kLongEnoughNs = 2'000'000'000; // ns
    if (acceptor_->refused(net::Refusal::descriptors) == 0 || awaited().empty())
        return;
    if (short_since_ == 0)
        short_since_ = now_ns();
    if (now_ns() - short_since_ < kLongEnoughNs && !over)
        return;
    errno = EMFILE;
    throw_errno(rank_here(group_.rank) + " cannot let in rank(s)" + listed(awaited()));
}

std::string Weaver::lacks() const {
    constexpr int kMostRanks = 3; // ranks of which the sentence speaks
    std::string lacks;
    int number = 0, last = -1;
    for (const Call &call : calls_) {
        if (call.rank != std::exchange(last, call.rank) && ++number <= kMostRanks)
            lacks += (number > 1 ? ", " : "to rank(s) ") + std::to_string(call.rank) + " at " +
                     address(call.rank).text() + " (" + call.connector->so_far() + ")";
    }
    if (number > kMostRanks)
        lacks += " and " + std::to_string(number - kMostRanks) + " more";
    const std::vector<int> others = awaited();
    if (!others.empty())
        lacks += (lacks.empty() ? "from" : "; from") + std::string(" rank(s)") + listed(others) +
                 " (no call has come to " + address(group_.rank).text() + ")";
    return lacks + from_here(address(calls_.empty() ? others.front() : calls_.front().rank),
                             net::interface_filter(acceptor_->network().iface));
}

std::string Weaver::remedy() const {
    return "does a firewall keep the hosts from one another (STRETTO_PORTS keeps the ranks' ports "
           "in a range that it can let through), or is another interface needed (STRETTO_IFACE)?";
}

bool Weaver::wanted(std::size_t line, int rank) const {
    return rank != group_.rank &&
           (lines_[line].kind == ConnectionKind::control || !group_.placement.here(rank));
}

// Ranks whose calls have not come.
std::vector<int> Weaver::awaited() const {
    std::vector<int> ranks;
    for (int rank = group_.rank + 1; rank < size(); ++rank)
        for (std::size_t line = 0; line < lines_.size(); ++line)
            if (wanted(line, rank) &&
                connections_[line][static_cast<std::size_t>(rank)] == nullptr) {
                ranks.push_back(rank);
                break;
            }
    return ranks;
}

// A call that rests between two tries has no place: a rank that cannot be reached keeps no other
// call waiting.
void Weaver::call_on() {
    const auto tries_now = [](const Call &call) { return call.connector->tries_now(); };
    std::ptrdiff_t places =
        static_cast<std::ptrdiff_t>(group_.at_once) - std::ranges::count_if(calls_, tries_now);
    for (Call &call : calls_) {
        const bool had_place = tries_now(call);
        if (!had_place && places == 0)
            continue;
        switch (call.connector->progress(now_ns())) {
        case net::Connector::State::failed: throw call.connector->failure();
        case net::Connector::State::trying:
            places += (had_place ? 1 : 0) - (tries_now(call) ? 1 : 0);
            continue;
        case net::Connector::State::open: break;
        }
        places += had_place ? 1 : 0;
        add(call.line, call.rank, call.connector->take());
        call.connector.reset();
    }
    std::erase_if(calls_, [](const Call &call) { return call.connector == nullptr; });
}

// Who calls a second time has given up the first call.
void Weaver::add(std::size_t line, int rank, net::Opened opened) {
    const Config::Network &network = acceptor_->network();
    connections_[line][static_cast<std::size_t>(rank)] = std::make_unique<net::Connection>(
        std::move(opened.socket),
        net::Peer{static_cast<std::uint32_t>(rank), host_named(network.fake_hosts, in_job(rank)),
                  opened.peer},
        limits_, network.congestion);
}

} // namespace stretto::bootstrap

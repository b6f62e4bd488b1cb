// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/pairing.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"

namespace stretto::simulate {

using schedule::Lane;
using schedule::Position;

namespace {

constexpr std::size_t kNoChannel = std::numeric_limits<std::size_t>::max();

std::string describe(const Model &model, TaskId task, Position source, Position destination,
                     Lane lane) {
    return std::string(model.tasks[task].sends ? "send" : "receive") + " of " +
           std::to_string(model.cost(task).bytes) + " bytes from position " +
           std::to_string(source) + " to " + std::to_string(destination) + " on lane " +
           std::to_string(lane);
}

[[noreturn]] void unpaired(const std::string &what) {
    throw Error(Status::argument,
                "simulate: no partner for the " + what + "; verify() gives the cause");
}

} // namespace

void Pairing::add(std::vector<End> &sends, std::vector<End> &recvs) {
    sends_.add(sends);
    recvs_.add(recvs);
}

void Pairing::Side::add(std::vector<End> &ends) {
    if (!std::is_sorted(ends.begin(), ends.end()))
        std::sort(ends.begin(), ends.end());
    from.push_back(channels.size());
    for (const End &end : ends) {
        if (channels.size() == from.back() || channels.back().peer != end.peer ||
            channels.back().lane != end.lane)
            channels.push_back({end.peer, end.lane, static_cast<std::uint32_t>(tasks.size())});
        tasks.push_back(end.task);
    }
}

std::size_t Pairing::Side::end_of(std::size_t position) const {
    return position + 1 < from.size() ? from[position + 1] : channels.size();
}

std::span<const TaskId> Pairing::Side::of(std::size_t channel) const {
    const std::size_t end =
        channel + 1 < channels.size() ? channels[channel + 1].first : tasks.size();
    return std::span(tasks).subspan(channels[channel].first, end - channels[channel].first);
}

std::size_t Pairing::Side::find(Position position, Position peer, Lane lane) const {
    const auto at = static_cast<std::size_t>(position);
    const auto begin = channels.begin() + static_cast<std::ptrdiff_t>(from[at]);
    const auto end = channels.begin() + static_cast<std::ptrdiff_t>(end_of(at));
    const auto found = std::lower_bound(begin, end, Channel{peer, lane, 0});
    return found != end && found->peer == peer && found->lane == lane
               ? static_cast<std::size_t>(found - channels.begin())
               : kNoChannel;
}

// A message gets the number of its receive among the receives of all channels.
void Pairing::pair(Model &model) const {
    model.messages.resize(recvs_.tasks.size());
    std::vector<bool> met(recvs_.channels.size(), false);
    for (std::size_t p = 0; p < sends_.from.size(); ++p) {
        const auto source = static_cast<Position>(p);
        for (std::size_t c = sends_.from[p]; c < sends_.end_of(p); ++c) {
            const auto [peer, lane, unused] = sends_.channels[c];
            const Position destination = model.one_for_all ? 0 : peer;
            const std::size_t other =
                recvs_.find(destination, model.one_for_all ? peer : source, lane);
            const std::span<const TaskId> sends = sends_.of(c);
            std::span<const TaskId> recvs;
            if (other != kNoChannel) {
                recvs = recvs_.of(other);
                met[other] = true;
            }
            for (std::size_t i = 0; i < std::min(sends.size(), recvs.size()); ++i) {
                if (model.cost(sends[i]).bytes != model.cost(recvs[i]).bytes)
                    throw Error(Status::argument,
                                "simulate: the " + describe(model, sends[i], source, peer, lane) +
                                    " meets a " + describe(model, recvs[i], source, peer, lane) +
                                    "; verify() gives the cause");
                const auto message = static_cast<MessageId>(recvs_.channels[other].first + i);
                model.messages[message] = {sends[i], recvs[i]};
                model.tasks[sends[i]].message = model.tasks[recvs[i]].message = message;
            }
            if (sends.size() != recvs.size())
                unpaired(describe(
                    model, sends.size() > recvs.size() ? sends[recvs.size()] : recvs[sends.size()],
                    source, peer, lane));
        }
    }
    for (std::size_t p = 0; p < recvs_.from.size(); ++p)
        for (std::size_t c = recvs_.from[p]; c < recvs_.end_of(p); ++c)
            if (!met[c])
                unpaired(describe(model, recvs_.of(c).front(), recvs_.channels[c].peer,
                                  static_cast<Position>(p), recvs_.channels[c].lane));
}

} // namespace stretto::simulate

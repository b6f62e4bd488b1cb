// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/messages.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/status.hpp"
#include "schedule/json.hpp"

namespace stretto::schedule {

namespace {

// One side of a message.  Sorted, the ops of a channel and lane stand together in program order.
struct End {
    Position source, destination;
    Lane lane;
    std::int32_t index; // in the program of its own position

    std::tuple<Position, Position, Lane> channel() const { return {source, destination, lane}; }
    bool operator<(const End &other) const {
        return std::tuple(channel(), index) < std::tuple(other.channel(), other.index);
    }
};

struct Ends {
    std::vector<End> sends, recvs;
};

Ends collect(const std::vector<std::vector<Op>> &paths) {
    Ends ends;
    for (std::size_t p = 0; p < paths.size(); ++p) {
        const auto here = static_cast<Position>(p);
        for (std::size_t i = 0; i < paths[p].size(); ++i) {
            const Op &op = paths[p][i];
            const auto index = static_cast<std::int32_t>(i);
            if (op.kind == OpKind::send)
                ends.sends.push_back({here, op.peer, op.lane, index});
            else if (op.kind == OpKind::recv)
                ends.recvs.push_back({op.peer, here, op.lane, index});
        }
    }
    std::sort(ends.sends.begin(), ends.sends.end());
    std::sort(ends.recvs.begin(), ends.recvs.end());
    return ends;
}

class Matcher {
public:
    Matcher(const std::vector<std::vector<Op>> &paths, const Partition &partition)
        : paths_(paths), partition_(partition), ends_(collect(paths)) {}

    std::vector<std::vector<std::int32_t>> run() {
        for (const std::vector<Op> &path : paths_)
            partner_.emplace_back(path.size(), -1);
        std::size_t s = 0, r = 0;
        while (s < ends_.sends.size() && r < ends_.recvs.size()) {
            if (ends_.sends[s].channel() != ends_.recvs[r].channel())
                break; // the lower of the two has no partner
            pair(ends_.sends[s++], ends_.recvs[r++]);
        }
        const bool send_left = s < ends_.sends.size(), recv_left = r < ends_.recvs.size();
        if (send_left && (!recv_left || ends_.sends[s].channel() < ends_.recvs[r].channel()))
            unmatched(ends_.sends[s].source, ends_.sends[s].index, "receive");
        if (recv_left)
            unmatched(ends_.recvs[r].destination, ends_.recvs[r].index, "send");
        return std::move(partner_);
    }

private:
    void pair(const End &send, const End &recv) {
        const Op &sent = op_at(send.source, send.index);
        const Op &received = op_at(recv.destination, recv.index);
        if (sent.blocks.size() != received.blocks.size())
            differ(send, recv,
                   "one has " + std::to_string(sent.blocks.size()) + " blocks, the other " +
                       std::to_string(received.blocks.size()));
        for (std::size_t i = 0; i < sent.blocks.size(); ++i)
            if (!partition_.same_size(sent.blocks[i], received.blocks[i]))
                differ(send, recv,
                       "blocks " + std::to_string(sent.blocks[i]) + " and " +
                           std::to_string(received.blocks[i]) + " differ in size for some counts");
        partner_[static_cast<std::size_t>(send.source)][static_cast<std::size_t>(send.index)] =
            recv.index;
        partner_[static_cast<std::size_t>(recv.destination)][static_cast<std::size_t>(recv.index)] =
            send.index;
    }

    [[noreturn]] void differ(const End &send, const End &recv, const std::string &how) const {
        throw Error(Status::argument, describe(send.source, send.index) + " and " +
                                          describe(recv.destination, recv.index) + ": " + how);
    }

    [[noreturn]] void unmatched(Position position, std::int32_t index, const char *missing) const {
        throw Error(Status::argument, "unmatched message: " + describe(position, index) +
                                          ": position " +
                                          std::to_string(op_at(position, index).peer) + " has no " +
                                          missing + " for it");
    }

    std::string describe(Position position, std::int32_t index) const {
        return "position " + std::to_string(position) + ", op " + std::to_string(index) + " (" +
               to_text(op_at(position, index)) + ")";
    }

    const Op &op_at(Position position, std::int32_t index) const {
        return paths_[static_cast<std::size_t>(position)][static_cast<std::size_t>(index)];
    }

    const std::vector<std::vector<Op>> &paths_;
    const Partition &partition_;
    Ends ends_;
    std::vector<std::vector<std::int32_t>> partner_;
};

} // namespace

std::vector<std::vector<std::int32_t>> match(const std::vector<std::vector<Op>> &paths,
                                             const Partition &partition) {
    return Matcher(paths, partition).run();
}

} // namespace stretto::schedule

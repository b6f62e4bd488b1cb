// SPDX-License-Identifier: BSD-3-Clause
// Matches sends and receives: message i of a channel and lane is its i-th send and its i-th
// receive.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "simulate/compile.hpp"

namespace stretto::simulate {

class Pairing {
public:
    // One side of a message, as its position knows it.
    struct End {
        schedule::Position peer;
        schedule::Lane lane;
        TaskId task;

        bool operator<(const End &other) const {
            return std::tie(peer, lane, task) < std::tie(other.peer, other.lane, other.task);
        }
    };

    // Adds the messages of the next position (position 0 first), in the order of its program.
    // Sorts them.
    void add(std::vector<End> &sends, std::vector<End> &recvs);
    // Makes the messages and enters their numbers in the tasks.  Throws Error(argument) that names
    // a message without a partner, or one whose sides differ in size.
    void pair(Model &model) const;

private:
    // The sends of a position to one peer on one lane, or its receives from it.
    struct Channel {
        schedule::Position peer;
        schedule::Lane lane;
        std::uint32_t first; // among `tasks`; they end where the next channel's begin

        bool operator<(const Channel &other) const {
            return std::tie(peer, lane) < std::tie(other.peer, other.lane);
        }
    };
    struct Side {
        std::vector<Channel> channels; // position 0's, then position 1's, ...
        std::vector<std::size_t> from; // per position: its first channel
        std::vector<TaskId> tasks;

        void add(std::vector<End> &ends);
        std::size_t end_of(std::size_t position) const; // of its channels
        std::span<const TaskId> of(std::size_t channel) const;
        // The channel of such messages, or kNoChannel.
        std::size_t find(schedule::Position position, schedule::Position peer,
                         schedule::Lane lane) const;
    };

    Side sends_, recvs_;
};

} // namespace stretto::simulate

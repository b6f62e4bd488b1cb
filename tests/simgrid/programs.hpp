// SPDX-License-Identifier: BSD-3-Clause
// Programs at one count: of each op, what takes time.  Made from the schedule alone, by the words
// of docs/architecture.md, with nothing of the simulator that is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <vector>

#include "simulate/simulate.hpp"

namespace stretto::test {

// Where the two halves of a message meet.
struct Message {
    schedule::Position from = -1, to = -1;
    std::int32_t index = -1; // of its send in its program
    std::size_t bytes = 0;
    simgrid::s4u::Mailbox *box = nullptr;
    simgrid::s4u::SemaphorePtr issued = simgrid::s4u::Semaphore::create(0);
    simgrid::s4u::SemaphorePtr delivered = simgrid::s4u::Semaphore::create(0);
};

struct Step {
    schedule::OpKind kind;
    Message *message; // null: none, or one without bytes
    double reduced;   // bytes
};

// Of all its blocks, which begin at `bounds`.
std::size_t bytes_of(const schedule::Op &op, std::span<const std::size_t> bounds,
                     std::size_t element);

struct Programs {
    Programs(const schedule::Schedule &schedule, const simulate::Problem &problem);

    std::vector<std::vector<Step>> steps; // per position, in the order of its program
    // Per position and op: the earlier ones that it is ordered after.
    std::vector<std::vector<std::vector<std::int32_t>>> before;

private:
    Message *message(const std::string &name);

    std::map<std::string, std::unique_ptr<Message>> messages_; // by what identifies them
};

} // namespace stretto::test

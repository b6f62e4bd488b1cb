// SPDX-License-Identifier: BSD-3-Clause
// A discrete-event simulator of schedules under the Hockney model.
//
// A message of m bytes occupies the out-port of its sender and the in-port of its receiver for
// alpha + beta*m seconds (full duplex: one outgoing and one incoming message at a time for each
// position), then, if it is reduced, the receiver's processor for gamma*m.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::simulate {

// Seconds, seconds per byte.
struct Network {
    double alpha = 3e-5;
    double beta = 1e-8;
    double gamma = 2e-10;
};

// When a transfer may start, besides both ports being free and the sender having issued it:
enum class Mode {
    posted,  // the receiver has reached exactly that receive: program order, one open receive
    arrived, // the receiver has arrived: all receives are posted on arrival
    eager,   // at once: buffered at the receiver
    ordered, // the receive is issued under the language's own order (dependencies and windows)
};

struct Event { // for drawings: one message or reduction
    schedule::Position from, to;
    schedule::Block block; // the first of the message
    double start, end;
    bool reduces;
};

struct Timeline {
    std::vector<double> finish; // seconds since time 0, per position
    double makespan = 0;        // the last finish
    double mean_elapsed = 0;    // mean of finish - arrival
    std::vector<Event> events;  // empty unless asked for
};

struct Problem {
    std::size_t count = 0;        // elements
    std::size_t element = 4;      // bytes of one
    std::vector<double> arrivals; // seconds, per position; empty: all 0
    Network network;
    Mode mode = Mode::posted;
    bool keep_events = false;
};

Timeline simulate(const schedule::Schedule &schedule, const Problem &problem);

} // namespace stretto::simulate

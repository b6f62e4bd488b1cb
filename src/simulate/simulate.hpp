// SPDX-License-Identifier: BSD-3-Clause
// A discrete-event simulator of schedules under the Hockney model.
//
// A message of m bytes occupies the out-port of its sender and the in-port of its receiver for
// alpha + beta*m seconds.  Ports are full duplex and single: at any time a position sends at most
// one message and receives at most one.  Of several messages that could start, the one that could
// first goes first.  Positions may share the ports of hosts and the uplinks of racks (sharing.hpp);
// nothing else of the network is modelled, no switch from eager to rendezvous by size.
//
// A message that is reduced then occupies its receiver's processor for gamma*m, a `reduce` of n
// sources for (n - 1)*gamma*m.  A processor does one at a time, in the order in which they become
// possible; ports continue meanwhile.  Copies cost nothing.  Messages without bytes are not sent
// (unless the schedule has an arbiter: then they carry its token and cost alpha).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/sharing.hpp"

namespace stretto::simulate {

// Seconds, seconds per byte.
struct Network {
    double alpha = 3e-5;
    double beta = 1e-8;
    double gamma = 2e-10;
};

// When a message may start, in addition to both ports being free and its send being issued.
//
// The first three modes are those of message-passing programs: a position arrives and walks its
// program.  A send is issued when the walk reaches it, from a copy, and never stops the walk.  A
// receive stops the walk until its message has arrived and is reduced.
//
// In the last mode a position does not walk: an op is issued when the ops that it is ordered after
// (schedule/dependencies.hpp, windows included) are complete.  Sends are not copied, so a send is
// complete when its message has been received.  A schedule that is free of deadlock is so in this
// mode.
enum class Mode {
    posted,  // the walk of the receiver stands at exactly this receive: one open receive
    arrived, // the receiver has arrived: it posts all its receives then
    eager,   // at once: the receiver's in-port buffers even before it arrives
    ordered, // the receive has been issued
};

// For drawings.  A message (from != to), or the work of a processor (from == to).
struct Event {
    schedule::Position from, to;
    std::int32_t from_op,
        to_op; // indices in the paths: of the send and the receive, or of the op that works
    schedule::Block block; // the first one
    double start, end;     // seconds since time 0
    bool reduces;          // the message is reduced at its receiver; true for work
};

struct Timeline {
    // Seconds since time 0, per position: when its last op is complete and its last message has
    // left; its arrival if it has none.
    std::vector<double> finish;
    double makespan = 0;     // the last finish
    double mean_elapsed = 0; // mean of finish - arrival
};

struct Problem {
    std::size_t count = 0;        // elements
    std::size_t element = 4;      // bytes of one
    std::vector<double> arrivals; // seconds, per position; empty: all 0
    Network network;
    Sharing sharing;
    Mode mode = Mode::posted;
    // Called for each event when it ends.  If it is set, every position is played.
    std::function<void(const Event &)> watch;
    // The path of a schedule with a token.  An arbiter's token spreads with the messages; an
    // elected one is known when the last position has arrived.
    std::int32_t token_value = 0;
};

// Times are exact to the picosecond, and the same on every machine.  A ring of P = 1024 (2 million
// messages) takes 0.7 s and 85 MB, one of 4096 23 s and 1.3 GB; nothing if all arrive together
// (compile.hpp).
//
// Throws Error(argument) if the schedule is not well formed or its messages do not pair, if the
// number of arrivals is not that of positions, if places to share do not fit, if a time is negative
// or above 10 days (50 for all of it), and at a deadlock, naming an op that waits.
Timeline simulate(const schedule::Schedule &schedule, const Problem &problem);

} // namespace stretto::simulate

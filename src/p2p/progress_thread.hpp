// SPDX-License-Identifier: BSD-3-Clause
// The thread that moves messages while their callers compute or wait in another communicator.
//
// A caller that waits for a transfer moves messages itself, and most callers wait soon.  So the
// progress thread begins to move messages when transfers are in flight and no caller has moved them
// for a millisecond.  The thread starts when a transfer first outlives the call that began it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <thread>

namespace stretto::p2p {

class Messenger;

// The caller holds the messenger's lock, except for the destructor.
class ProgressThread {
public:
    explicit ProgressThread(Messenger &messenger) : messenger_(messenger) {}
    ~ProgressThread();

    void add_transfer(); // in flight
    void remove_transfer();
    // The program is to be told of the end of such a transfer, so the thread does not wait for
    // callers.
    void add_urgent();
    void remove_urgent() { --urgent_; }

    // From enter() to leave() a caller moves the messages in flight.
    void enter() {
        ++callers_;
        ++visits_;
    }
    void leave();
    bool has_callers() const { return callers_ != 0; }

private:
    class Driving;

    void run();
    bool wanted() const { return !stop_ && callers_ == 0 && in_flight_ != 0; }

    Messenger &messenger_;
    std::thread thread_;
    std::condition_variable changed_;
    bool stop_ = false;
    bool parked_ = false; // waits for changed_
    int callers_ = 0;
    std::size_t in_flight_ = 0;
    std::size_t urgent_ = 0; // of them
    std::uint64_t visits_ = 0;
};

} // namespace stretto::p2p

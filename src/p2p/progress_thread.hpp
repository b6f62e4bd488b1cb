// SPDX-License-Identifier: BSD-3-Clause
// The thread that moves messages while their callers do something else: compute, or wait in another
// communicator, where nobody would.
//
// Callers who wait drive by themselves, and most transfers are waited for soon: the progress thread
// steps in when something is in flight and nobody has looked after it for a millisecond.  There is
// no thread until a transfer outlives the call that started it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <thread>

namespace stretto::p2p {

class Messenger;

// All members but the destructor with the messenger's lock.
class ProgressThread {
public:
    explicit ProgressThread(Messenger &messenger) : messenger_(messenger) {}
    ~ProgressThread();

    void one_more(); // in flight
    void one_less();

    // A caller looks after what is in flight, from arrives() to leaves().
    void arrives() {
        ++callers_;
        ++visits_;
    }
    void leaves();
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
    std::uint64_t visits_ = 0;
};

} // namespace stretto::p2p

// SPDX-License-Identifier: BSD-3-Clause
#include "turns.hpp"

#include <cmath>

namespace stretto::test {

namespace s4u = simgrid::s4u;
using schedule::Position;

Turns::Turns(s4u::Host *where, Position ranks, bool connections)
    : ranks_(static_cast<std::size_t>(ranks)), connections_(connections), sending_(ranks_ * ranks_),
      receiving_(ranks_ * ranks_) {
    s4u::Actor::create("turns", where, [this] {
        while (true) {
            wake_->acquire();
            s4u::this_actor::sleep_for(kMoment);
            woken_ = false;
            look();
        }
    })->daemonize();
}

void Turns::take(Position from, Position to, std::int32_t index) {
    const s4u::SemaphorePtr go = s4u::Semaphore::create(0);
    waiting_.insert({std::llround(s4u::Engine::get_clock() * 1e12), index, from, to, go.get()});
    look_later();
    go->acquire();
}

void Turns::give_back(Position from, Position to) {
    sending_[out(from, to)] = receiving_[in(from, to)] = false;
    look_later();
}

void Turns::look_later() {
    if (woken_)
        return;
    woken_ = true;
    wake_->release();
}

void Turns::look() {
    std::vector<s4u::Semaphore *> go;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        const std::size_t from = out(each->from, each->to), to = in(each->from, each->to);
        if (sending_[from] || receiving_[to]) {
            ++each;
            continue;
        }
        sending_[from] = receiving_[to] = true;
        go.push_back(each->go);
        each = waiting_.erase(each);
    }
    for (s4u::Semaphore *each : go)
        each->release();
}

std::size_t Turns::out(Position from, Position to) const {
    return static_cast<std::size_t>(from) * (connections_ ? ranks_ : 1) +
           (connections_ ? static_cast<std::size_t>(to) : 0);
}

std::size_t Turns::in(Position from, Position to) const {
    return connections_ ? out(from, to) : static_cast<std::size_t>(to);
}

} // namespace stretto::test

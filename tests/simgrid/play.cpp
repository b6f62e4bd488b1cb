// SPDX-License-Identifier: BSD-3-Clause
#include "play.hpp"

#include <cmath>
#include <optional>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "apart.hpp"
#include "platform.hpp"
#include "programs.hpp"
#include "turns.hpp"

namespace stretto::test {

namespace s4u = simgrid::s4u;
using schedule::OpKind;
using schedule::Position;
using simulate::Mode;

namespace {

class Actors {
public:
    Actors(const schedule::Schedule &schedule, const simulate::Problem &problem,
           std::vector<s4u::Host *> hosts, Turns *turns)
        : problem_(problem), programs_(schedule, problem), hosts_(std::move(hosts)), turns_(turns),
          finish_(hosts_.size()), asked_(hosts_.size(), -1), waits_(hosts_.size()),
          dependents_(hosts_.size()) {
        for (std::size_t p = 0; p < hosts_.size(); ++p) {
            processors_.push_back(s4u::Mutex::create());
            at(p, [this, p] { problem_.mode == Mode::ordered ? release(p) : walk(p); });
        }
    }

    // The finish times, and how many ties.
    std::vector<double> answer() const {
        std::vector<double> answer = finish_;
        answer.push_back(tied_);
        return answer;
    }

private:
    template<class Code>
    void at(std::size_t position, Code code) {
        s4u::Actor::create("at " + std::to_string(position), hosts_[position], code);
    }

    void arrive(std::size_t position) {
        if (!problem_.arrivals.empty())
            s4u::this_actor::sleep_until(problem_.arrivals[position]);
        done(position);
    }

    void done(std::size_t position) { finish_[position] = s4u::Engine::get_clock(); }

    // A program as a message-passing program is one.
    void walk(std::size_t position) {
        if (problem_.mode == Mode::eager)
            receive_all(position);
        arrive(position);
        if (problem_.mode == Mode::arrived)
            receive_all(position);
        std::vector<s4u::CommPtr> sent;
        for (const Step &step : programs_.steps[position]) {
            if (step.message != nullptr && step.kind == OpKind::send)
                sent.push_back(send(*step.message));
            else if (step.message != nullptr && problem_.mode == Mode::posted)
                receive(*step.message);
            else if (step.message != nullptr)
                step.message->delivered->acquire();
            work(position, step);
        }
        s4u::Comm::wait_all(sent);
        done(position);
    }

    // The receives of modes arrived and eager, which are all open at once.
    void receive_all(std::size_t position) {
        for (const Step &step : programs_.steps[position])
            if (step.message != nullptr && step.kind == OpKind::recv)
                at(position, [this, message = step.message] {
                    receive(*message);
                    message->delivered->release();
                });
    }

    // Mode ordered: an op is an actor, which begins when those are done that it is ordered after.
    void release(std::size_t position) {
        const auto &before = programs_.before[position];
        std::vector<std::size_t> &waits = waits_[position];
        dependents_[position].resize(before.size());
        for (std::size_t op = 0; op < before.size(); ++op) {
            waits.push_back(before[op].size());
            for (const std::int32_t earlier : before[op])
                dependents_[position][static_cast<std::size_t>(earlier)].push_back(op);
        }
        arrive(position);
        for (std::size_t op = 0; op < before.size(); ++op)
            if (before[op].empty())
                at(position, [this, position, op] { run(position, op); });
    }

    void run(std::size_t position, std::size_t op) {
        const Step &step = programs_.steps[position][op];
        if (step.message != nullptr && step.kind == OpKind::send)
            send(*step.message)->wait();
        else if (step.message != nullptr)
            receive(*step.message);
        work(position, step);
        done(position);
        for (const std::size_t later : dependents_[position][op])
            if (--waits_[position][later] == 0)
                at(position, [this, position, later] { run(position, later); });
    }

    static s4u::CommPtr send(Message &message) {
        s4u::CommPtr comm = message.box->put_async(&message, message.bytes);
        message.issued->release();
        return comm;
    }

    // Both sides are there when the message asks for its turn, so it is on its way at once.
    void receive(Message &message) {
        message.issued->acquire();
        if (turns_ != nullptr)
            turns_->take(message.from, message.to, message.index);
        message.box->get<Message>();
        if (turns_ != nullptr)
            turns_->give_back(message.from, message.to);
    }

    // A processor does one thing at a time, first come, first served.
    void work(std::size_t position, const Step &step) {
        if (step.reduced == 0 || problem_.network.gamma == 0)
            return;
        const std::int64_t now = std::llround(s4u::Engine::get_clock() * 1e12);
        tied_ += std::exchange(asked_[position], now) == now ? 1 : 0;
        processors_[position]->lock();
        s4u::this_actor::execute(step.reduced);
        processors_[position]->unlock();
    }

    const simulate::Problem &problem_;
    Programs programs_;
    std::vector<s4u::Host *> hosts_;
    Turns *turns_;
    std::vector<s4u::MutexPtr> processors_;
    std::vector<double> finish_;
    std::vector<std::int64_t> asked_; // of each processor, the last time: picoseconds
    int tied_ = 0;
    // Of mode ordered, per position and op: how many it still waits for, and who waits for it.
    std::vector<std::vector<std::size_t>> waits_;
    std::vector<std::vector<std::vector<std::size_t>>> dependents_;
};

std::vector<double> play_here(const schedule::Schedule &schedule, const simulate::Problem &problem,
                              Links links) {
    s4u::Engine engine("stretto");
    configure();
    const bool turns_taken = links != Links::shared;
    const std::vector<s4u::Host *> hosts =
        make_hosts(schedule.ranks, problem.network, turns_taken ? kMoment : 0);
    std::optional<Turns> turns;
    if (turns_taken)
        turns.emplace(hosts.front(), schedule.ranks, links == Links::connected);
    const Actors actors(schedule, problem, hosts, turns ? &*turns : nullptr);
    engine.run();
    return actors.answer();
}

} // namespace

Played play(const schedule::Schedule &schedule, const simulate::Problem &problem, Links links) {
    std::vector<double> answer = apart([&] { return play_here(schedule, problem, links); });
    const auto tied = static_cast<int>(answer.back());
    answer.pop_back();
    return {std::move(answer), tied};
}

} // namespace stretto::test

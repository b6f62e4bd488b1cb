// SPDX-License-Identifier: BSD-3-Clause
#include "comm/call_trace.hpp"

#include <cstdint>
#include <exception>
#include <optional>

#include "base/warning.hpp"
#include "calls/call_words.hpp"
#include "engine/failure.hpp"

namespace stretto::comm {

namespace {

class Recorded final : public transport::Traffic {
public:
    explicit Recorded(trace::Recorder &recorder) : recorder_(recorder) {}
    void sent(int rank, std::uint32_t bytes, std::uint64_t total) override {
        recorder_.sent(rank, bytes, total);
    }
    void received(int rank, std::uint32_t bytes, std::uint64_t total) override {
        recorder_.received(rank, bytes, total);
    }

private:
    trace::Recorder &recorder_;
};

} // namespace

trace::Recorder *CallTrace::start(const Config::Trace &config, const RankIdentity &me,
                                  const std::shared_ptr<trace::Buffer> *parent,
                                  transport::Segment &segment,
                                  transport::LinkedPeers *linked_peers) {
    try {
        const std::shared_ptr<trace::Buffer> buffer =
            parent != nullptr ? *parent : trace::Buffer::open(config, me);
        if (buffer == nullptr)
            return nullptr;
        recorder_ = std::make_unique<trace::Recorder>(buffer, me.rank, me.ranks, me.job,
                                                      &calls::trace_words);
        if (linked_peers != nullptr) {
            traffic_ = std::make_unique<Recorded>(*recorder_);
            linked_peers->observe(*traffic_);
        }
        return recorder_.get();
    } catch (...) { // the others wait for this rank
        throw engine::post_exception(segment, me.rank,
                                     engine::no_memory(segment.names().of(me.rank)));
    }
}

void CallTrace::write(const arrival::JobClock &clock) {
    if (recorder_ == nullptr)
        return;
    if (const std::optional<std::int64_t> offset = clock.offset()) // the latest offset
        recorder_->buffer().set_offset(*offset);
    recorder_->buffer().write_json();
}

// Users look at the trace for what happened before the failure.  The program may end without
// another call, so the trace is written now.
void CallTrace::failed(const Error &failure, const arrival::JobClock &clock) noexcept {
    if (recorder_ == nullptr)
        return;
    recorder_->failed(failure.what());
    try {
        write(clock);
    } catch (const std::exception &error) {
        warn(error.what());
    }
}

} // namespace stretto::comm

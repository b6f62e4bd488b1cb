// SPDX-License-Identifier: BSD-3-Clause
// The trace of a rank: where it begins and ends, and how calls are called in it.
#include "base/mix.hpp"
#include "base/warning.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"
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

trace::CallWords Communicator::words(std::uint64_t what) {
    const auto collective = collective_in(what);
    trace::CallWords words;
    words.collective = schedule::name(collective);
    words.dtype = dtype_in(what);
    words.op = op_in(what);
    words.has_data = collective != Collective::barrier;
    words.nonblocking = (what & kOverlapsFlag) != 0;
    words.by_pairs = (what & kByPairsFlag) != 0;
    words.reduces = words.has_data && !words.by_pairs && schedule::reduces(collective);
    if (schedule::rooted(collective))
        words.root = static_cast<int>(what >> kRootShift);
    return words;
}

// As others find it in what this rank writes.  Of the key no more is told than tells jobs apart.
RankIdentity Communicator::in_files() const {
    constexpr std::uint64_t kNameMagic = 0x7472616365;
    return {me_.job, mix(segment_->header().key, kNameMagic), me_.rank, me_.size};
}

// One trace for a rank and all of its communicators.
trace::Recorder *Communicator::start_trace(const ParentContext *origin) {
    try {
        const std::shared_ptr<trace::Buffer> buffer =
            origin != nullptr ? origin->trace : trace::Buffer::open(in_files());
        if (buffer == nullptr)
            return nullptr;
        recorder_ = std::make_unique<trace::Recorder>(buffer, me_.rank, me_.size, me_.job, &words);
        if (joined_.linked_peers != nullptr) {
            traffic_ = std::make_unique<Recorded>(*recorder_);
            joined_.linked_peers->observe(*traffic_);
        }
        return recorder_.get();
    } catch (...) { // the others wait for this rank
        throw engine::post_exception(*segment_, me_.rank,
                                     engine::no_memory(segment_->names().of(me_.rank)));
    }
}

std::optional<std::int64_t> Communicator::clock_offset() const {
    if (joined_.reach.watch == nullptr)
        return std::nullopt;
    const auto clocks = joined_.reach.watch->clocks();
    const auto rank =
        static_cast<std::size_t>(joined_.reach.ranks[static_cast<std::size_t>(me_.rank)]);
    if (!clocks || rank >= clocks->of_rank.size())
        return std::nullopt;
    return clocks->of_rank[rank];
}

// The last word counts.
void Communicator::note_clock() {
    if (const std::optional<std::int64_t> offset = clock_offset())
        recorder_->buffer().set_offset(*offset);
}

void Communicator::finish_trace() {
    if (recorder_ == nullptr || !of_job_)
        return;
    note_clock();
    recorder_->buffer().write_json();
}

// What happened before a failure is what people want to see, and the program may end without
// another word.
void Communicator::trace_failure(const Error &failure) noexcept {
    if (recorder_ == nullptr)
        return;
    recorder_->failed(failure.what());
    try {
        note_clock();
        recorder_->buffer().write_json();
    } catch (const std::exception &error) {
        warn(error.what());
    }
}

} // namespace stretto::comm

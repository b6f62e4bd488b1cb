// SPDX-License-Identifier: BSD-3-Clause
#include "device/waiting_streams.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "base/thread.hpp"
#include "base/warning.hpp"

namespace stretto::device {

namespace {

constexpr std::chrono::milliseconds kPauseMs{100}; // between two looks of the watch
constexpr std::uint64_t kWarnNs = 5'000'000'000;   // of waiting for the driver
constexpr std::uint64_t kTellNs = 300'000'000;     // the same: other ranks are told
constexpr transport::WaitState kKept{transport::WaitState::step, transport::WaitState::kDriverRank};
// After the failure of its communicator, a stream waits for copies to end, which may be behind it.
constexpr std::uint64_t kLastWaitNs = 10'000'000'000;
constexpr int kIdleLooks = 20; // no stream waits: then the watch sleeps

constexpr const char *kRemedy = "; let the host wait for the stream before, for instance by "
                                "cudaStreamSynchronize (docs/gpu.md)";

std::uint64_t warning_at(const Patience &patience) {
    return patience.limit_ns == 0 ? kWarnNs : std::min(kWarnNs, patience.limit_ns / 2);
}

std::string standstill(const Patience &patience, std::uint64_t kept_ns) {
    return patience.name() + " has waited " + in_seconds(kept_ns) +
           " for the CUDA driver to take a kernel or a copy, and a stream of the program waits for "
           "a call: another thread of this process is in a call of the driver that waits for the "
           "device, such as cudaFree or cudaMemcpy";
}

} // namespace

WaitingStreams::Giving::Giving(WaitingStreams &streams) : streams_(streams), since_ns_(now_ns()) {
    const std::lock_guard lock(streams.giving_mutex_);
    streams.giving_.push_back(this);
}

WaitingStreams::Giving::~Giving() {
    const std::lock_guard lock(streams_.giving_mutex_);
    std::erase(streams_.giving_, this);
}

void WaitingStreams::began(WaitingStream &stream, bool holds_default) {
    const std::lock_guard lock(mutex_);
    if (watch_ == Watch::none)
        try {
            named_thread("stretto-streams", [this] { watch(); }).detach();
        } catch (const std::system_error &error) {
            throw Error(Status::system,
                        std::string("a thread that watches streams: ") + error.what());
        }
    if (watch_ == Watch::sleeps)
        awake_.notify_one();
    watch_ = Watch::looks;
    stream.holds_default_ = holds_default;
    holding_default_.fetch_add(holds_default ? 1 : 0, std::memory_order_release);
    waiting_.splice(waiting_.end(), stream.place_, stream.at_);
}

void WaitingStreams::ended(WaitingStream &stream) noexcept {
    const std::lock_guard lock(mutex_);
    if (stream.place_.empty())
        go_on(stream, WaitingStream::Why::ended);
}

void WaitingStreams::go_on(WaitingStream &stream, WaitingStream::Why why) noexcept {
    holding_default_.fetch_sub(stream.holds_default_ ? 1 : 0, std::memory_order_release);
    stream.place_.splice(stream.place_.end(), waiting_, stream.at_);
    stream.go_on(why);
}

void WaitingStreams::watch() {
    std::unique_lock lock(mutex_);
    for (int idle = 0;; ++idle) {
        if (!waiting_.empty() || !told_.empty())
            idle = 0;
        if (idle == kIdleLooks) {
            watch_ = Watch::sleeps;
            awake_.wait(lock, [this] { return watch_ == Watch::looks; });
            idle = 0;
        }
        awake_.wait_for(lock, kPauseMs);
        try {
            look();
        } catch (const std::exception &) { // no memory for words; the next look may have some
        }
    }
}

// How long the driver has kept a thread from the device, at least.
std::uint64_t WaitingStreams::kept_ns() {
    const std::lock_guard lock(giving_mutex_);
    return giving_.empty() ? 0 : now_ns() - giving_.front()->since_ns_;
}

// The reports of other ranks say so.  At each look: other waits of this rank overwrite it.
WaitingStreams::Told &WaitingStreams::tell(const Patience &patience) {
    auto told = std::ranges::find_if(
        told_, [&](const Told &each) { return each.patience.segment == patience.segment; });
    if (told == told_.end())
        told = told_.insert(told, {patience, false});
    patience.wait_state().store(kKept.packed(), std::memory_order_release);
    return *told;
}

void WaitingStreams::take_back() {
    for (const Told &each : told_) {
        std::uint64_t kept = kKept.packed();
        each.patience.wait_state().compare_exchange_strong(kept, 0, std::memory_order_relaxed);
    }
    told_.clear();
}

// By a thread of its own: on its way to other hosts a failure may wait for a lock, whose thread
// waits for the one that the driver keeps.
void WaitingStreams::fail(Told &told, std::uint64_t kept_ns) {
    const Patience &patience = told.patience;
    if (patience.segment->failed() || std::exchange(told.failed, true))
        return;
    const std::string why =
        standstill(patience, kept_ns) + ", so the stream goes on without the result" + kRemedy;
    if (patience.segment->remote_peers() == nullptr)
        return patience.segment->fail(Status::timeout, why);
    named_thread("stretto-fail", [segment = patience.segment, why] {
        segment->fail(Status::timeout, why);
    }).detach();
}

void WaitingStreams::look() {
    const std::uint64_t given_ns = kept_ns(), kept = given_ns < kTellNs ? 0 : given_ns;
    if (kept == 0 || waiting_.empty())
        take_back();
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        WaitingStream &stream = **at++;
        const Patience &patience = stream.patience_;
        Told *const told = kept != 0 ? &tell(patience) : nullptr;
        if (patience.ends(kept)) {
            if (told != nullptr)
                fail(*told, kept);
            // Other ranks that use the memory of the call stop when they see the failure.
            if (stream.ending_since_ns_ == 0)
                stream.ending_since_ns_ = now_ns();
            if (now_ns() - stream.ending_since_ns_ >= (kept != 0 ? engine::kStuckNs : kLastWaitNs))
                go_on(stream, WaitingStream::Why::given_up);
        } else if (!warned_ && kept > warning_at(patience)) {
            warned_ = true;
            warn(standstill(patience, kept) +
                 "; if the device waits for that stream, this process stands still" +
                 (patience.limit_ns == 0
                      ? ""
                      : " until " + in_seconds(patience.limit_ns) + " are over") +
                 kRemedy);
        }
    }
}

} // namespace stretto::device

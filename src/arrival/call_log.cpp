// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/call_log.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "arrival/call_log_format.hpp"

namespace stretto::arrival {

namespace {

constexpr RankFileUse kUse{"a report", "STRETTO_REPORT names a folder for reports", ""};

// Written by one thread at a time, and read by others.
void add(std::atomic<std::uint64_t> &sum, std::uint64_t more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

} // namespace

std::shared_ptr<CallLog> CallLog::open(const Config::Report &config, const RankIdentity &me) {
    return config.folder.empty() ? nullptr : std::make_shared<CallLog>(config.folder, me);
}

CallLog::CallLog(const std::string &folder, const RankIdentity &me)
    : file_(kUse, folder, ".calls", kHeaderBytes + kKinds * bytes_of_kind(kKeptCalls), me),
      header_(new (file_.memory()) CallLogHeader{}) {
    header_->who = header_of(me);
    header_->kinds = kKinds;
    header_->places = kKeptCalls;
    header_->who.magic = kMagic;
}

CallLog::Calls &CallLog::of(const CallKind &kind) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(kinds_, [&](const auto &each) { return each.first == kind; });
    if (found != kinds_.end())
        return *found->second;
    if (kinds_.size() == kKinds)
        return left_out_;
    try {
        return make(kind);
    } catch (const std::bad_alloc &) { // no call fails for it
        return left_out_;
    }
}

CallLog::Calls &CallLog::make(const CallKind &kind) {
    std::byte *const place =
        file_.memory() + kHeaderBytes + kinds_.size() * bytes_of_kind(kKeptCalls);
    auto *line = new (place) KindLine{};
    line->communicator = kind.communicator;
    line->rank = kind.rank;
    line->size = kind.size;
    line->root = kind.root;
    line->count = kind.count;
    line->bytes = kind.bytes;
    put_text(line->communicator_name, kind.communicator_name);
    put_text(line->collective, kind.collective);
    put_text(line->dtype, kind.dtype);
    put_text(line->op, kind.op);
    line->stride.store(1, std::memory_order_relaxed);
    auto *const places = reinterpret_cast<KeptCall *>(place + kLineBytes);
    auto calls = std::make_unique<Calls>(*this, line, std::span(places, kKeptCalls));
    kinds_.emplace_back(kind, std::move(calls));
    line->there.store(1, std::memory_order_release);
    return *kinds_.back().second;
}

void CallLog::add_queues(const QueueUse &posted, const QueueUse &unexpected) {
    const std::lock_guard lock(mutex_);
    header_->posted.add(posted);
    header_->unexpected.add(unexpected);
}

void QueueLine::add(const QueueUse &use) {
    constexpr auto kOrder = std::memory_order_relaxed;
    arrival::add(searches, use.searches);
    arrival::add(looks, use.looks);
    arrival::add(conversions, use.conversions);
    if (use.deepest <= deepest.load(kOrder))
        return;
    deepest.store(use.deepest, kOrder);
    counted.store(use.counted, kOrder);
    source.store(use.source, kOrder);
    tag.store(use.tag, kOrder);
    source_share.store(use.source_share, kOrder);
    tag_share.store(use.tag_share, kOrder);
}

void CallLog::Calls::begin(std::uint64_t now, std::int64_t offset) {
    if (line_ == nullptr) {
        log_.header_->left_out.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const std::uint64_t left = log_.left_.load(std::memory_order_relaxed);
    if (left != 0 && left < now) // another thread's call may still run, or end now
        add(line_->outside, now - left);
    place_ = sample_.begin(line_->begun.load(std::memory_order_relaxed), now, offset);
    line_->stride.store(sample_.stride(), std::memory_order_relaxed);
    add(line_->begun, 1);
    began_ = now;
}

void CallLog::Calls::end(std::uint64_t now) {
    if (place_ != nullptr)
        place_->end.store(now, std::memory_order_release);
    if (line_ != nullptr) {
        add(line_->inside, now - began_);
        add(line_->complete, 1);
    }
    log_.left_.store(now, std::memory_order_relaxed);
}

CallLog::Calls::Running CallLog::Calls::begin_beside(std::uint64_t now, std::int64_t offset) {
    Running call;
    call.number = line_ == nullptr ? 0 : line_->begun.load(std::memory_order_relaxed);
    call.began = now;
    begin(now, offset);
    call.place = std::exchange(place_, nullptr);
    return call;
}

void CallLog::Calls::started(Running &call, std::uint64_t now) {
    call.inside = now - call.began;
    log_.left_.store(now, std::memory_order_relaxed);
}

void CallLog::Calls::end_beside(const Running &call, std::uint64_t entered, std::uint64_t now) {
    const std::uint64_t inside = call.inside + now - entered;
    // The place may have become that of a later call meanwhile.
    if (call.place != nullptr &&
        call.place->number.load(std::memory_order_relaxed) == call.number + 1)
        call.place->end.store(call.began + inside, std::memory_order_release);
    if (line_ != nullptr) {
        add(line_->inside, inside);
        add(line_->complete, 1);
    }
    log_.left_.store(now, std::memory_order_relaxed);
}

} // namespace stretto::arrival

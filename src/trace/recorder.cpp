// SPDX-License-Identifier: BSD-3-Clause
#include "trace/recorder.hpp"

#include <new>

namespace stretto::trace {

namespace {

constexpr std::uint64_t place_of(std::uint64_t call, std::uint32_t step) {
    return call << 32 | step;
}

} // namespace

Recorder::Recorder(std::shared_ptr<Buffer> buffer, int rank, int size, std::string_view name,
                   Translate translate)
    : buffer_(std::move(buffer)), communicator_(buffer_->add_communicator(rank, size, name)),
      translate_(std::move(translate)) {}

Recorder::~Recorder() {
    wait_ends(now_ns());
}

std::uint32_t Recorder::number_of(std::string_view text, Name &last) noexcept {
    try {
        if (text != last.text) {
            last.text = text;
            last.number = buffer_->name(text);
        }
        return last.number;
    } catch (const std::bad_alloc &) {
        last.text.clear();
        return last.number = 0;
    }
}

void Recorder::call_begins(const Call &call) {
    const CallWords words = translate_(call.what);
    const std::uint32_t collective = number_of(words.collective, collective_);
    const std::uint32_t algorithm = number_of(call.algorithm, algorithm_);
    Record record;
    record.begin = now_ns();
    wait_ends(record.begin);
    record.kind = Kind::call_begins;
    record.flags = static_cast<std::uint8_t>(
        (words.nonblocking ? kNonblocking : 0) | (call.synchronizing ? kSynchronizing : 0) |
        (words.by_pairs ? kByPairs : 0) | (words.reduces ? kReduces : 0) |
        (words.has_data ? kHasData : 0));
    record.communicator = communicator_;
    record.a = collective | algorithm << 16;
    record.first = call.sequence;
    record.second = call.count;
    record.third = call.bytes;
    record.fourth = static_cast<std::uint64_t>(words.dtype) |
                    static_cast<std::uint64_t>(words.op) << 16 |
                    static_cast<std::uint64_t>(words.root + 1) << 32;
    buffer_->add(record);
}

void Recorder::call_ends(std::uint64_t sequence) {
    Record record;
    record.begin = record.end = now_ns();
    wait_ends(record.end);
    record.kind = Kind::call_ends;
    record.communicator = communicator_;
    record.first = sequence;
    buffer_->add(record);
}

std::uint64_t Recorder::step_begins() {
    const std::uint64_t now = now_ns();
    wait_ends(now);
    return now;
}

void Recorder::step_ends(std::uint64_t begin, const Step &step, const Ranks &sources,
                         const Ranks &readers) {
    Record record;
    record.begin = begin;
    record.end = now_ns();
    record.kind = Kind::step;
    record.flags =
        static_cast<std::uint8_t>((step.stores ? kStores : 0) | (step.publishes ? kPublishes : 0));
    record.communicator = communicator_;
    record.a = step.bytes;
    record.first = place_of(step.call, step.step);
    record.second = sources.count | readers.count << 16 | std::uint64_t{step.operands} << 32;
    record.third = sources.word;
    record.fourth = readers.word;
    buffer_->add(record);
}

Record Recorder::record_of(const Wait &wait, Kind kind, std::uint64_t end) const {
    Record record;
    record.begin = wait.begin;
    record.end = end;
    record.kind = kind;
    record.communicator = communicator_;
    record.a = static_cast<std::uint32_t>(wait.rank + 1);
    record.first = place_of(wait.call, wait.step);
    return record;
}

void Recorder::wait_begins(std::uint64_t call, std::uint32_t step, int rank) {
    const std::uint64_t now = now_ns();
    wait_ends(now);
    wait_ = {now, call, step, rank, false};
}

void Recorder::wait_ends(std::uint64_t now) {
    if (wait_.begin == 0)
        return;
    buffer_->add(record_of(wait_, Kind::wait, now));
    wait_.begin = 0;
}

void Recorder::waits_long() {
    if (wait_.begin != 0 && !wait_.recorded) {
        wait_.recorded = true;
        buffer_->add(record_of(wait_, Kind::waits, now_ns()));
    }
}

static Record transfer(Kind kind, std::uint16_t communicator, int rank, std::uint32_t bytes,
                       std::uint64_t total) {
    Record record;
    record.begin = record.end = now_ns();
    record.kind = kind;
    record.communicator = communicator;
    record.a = bytes;
    record.first = static_cast<std::uint64_t>(rank);
    record.second = total;
    return record;
}

void Recorder::sent(int rank, std::uint32_t bytes, std::uint64_t total) {
    buffer_->add(transfer(Kind::sent, communicator_, rank, bytes, total));
}

void Recorder::received(int rank, std::uint32_t bytes, std::uint64_t total) {
    buffer_->add(transfer(Kind::received, communicator_, rank, bytes, total));
}

void Recorder::queue_converts(bool unexpected, std::string_view from, std::string_view to,
                              std::uint64_t items) {
    Name old_name, new_name;
    Record record;
    record.begin = record.end = now_ns();
    record.kind = Kind::queue_converts;
    record.flags = unexpected ? kUnexpected : 0;
    record.communicator = communicator_;
    record.a = number_of(to, new_name);
    record.first = number_of(from, old_name);
    record.second = items;
    buffer_->add(record);
}

void Recorder::failed(std::string_view message) {
    Name name;
    Record record;
    record.begin = record.end = now_ns();
    record.kind = Kind::failure;
    record.communicator = communicator_;
    record.a = number_of(message, name);
    buffer_->add(record);
}

} // namespace stretto::trace

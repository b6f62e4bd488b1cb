// SPDX-License-Identifier: BSD-3-Clause
#include "trace/buffer.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

#include "base/status.hpp"
#include "base/warning.hpp"
#include "trace/events.hpp"
#include "trace/log.hpp"

namespace stretto::trace {

namespace {

constexpr RankFileUse kUse{"a trace", "STRETTO_TRACE names a folder for traces",
                           " (STRETTO_TRACE_BYTES)"};

// The number of records that fit, a power of two.
std::size_t records_of(std::size_t bytes) {
    return std::bit_floor(bytes / sizeof(Slot));
}

} // namespace

std::shared_ptr<Buffer> Buffer::open(const Config::Trace &config, const Identity &me) {
    return config.folder.empty() ? nullptr
                                 : std::make_shared<Buffer>(config.folder, config.bytes, me);
}

Buffer::Buffer(const std::string &folder, std::size_t bytes, const Identity &me)
    : raw_(kUse, folder, ".raw", kHeaderBytes + kNameBytes + records_of(bytes) * sizeof(Slot), me),
      json_path_(RankFile::path(folder, ".json", me)) {
    std::byte *const memory = raw_.memory();
    std::memset(memory, 0, raw_.bytes()); // touches the pages before they are needed
    header_ = new (memory) Header{};
    header_->who = header_of(me);
    names_ = reinterpret_cast<char *>(memory + kHeaderBytes);
    slots_ = reinterpret_cast<Slot *>(memory + kHeaderBytes + kNameBytes);
    header_->records = records_of(bytes);
    mask_ = header_->records - 1;
    header_->name_bytes.store(1, std::memory_order_relaxed); // name 0 is ""
    header_->who.magic = kMagic;
}

Buffer::~Buffer() {
    bool written = false;
    try {
        write_json();
        written = true;
    } catch (const std::exception &error) {
        warn(error.what() + ("; the records are still in " + raw_.path()));
    }
    if (written)
        unlink(raw_.path().c_str());
}

void Buffer::add(const Record &record) {
    const std::uint64_t index = header_->head.fetch_add(1, std::memory_order_relaxed);
    Slot &slot = slots_[index & mask_];
    const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(record);
    slot.stamp.store(0, std::memory_order_release);
    for (std::size_t i = 0; i < kWords; ++i)
        slot.words[i].store(words[i], std::memory_order_release); // stored after the zero
    slot.stamp.store(index + 1, std::memory_order_release);
}

std::uint32_t Buffer::name(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(text); found != known_.end())
        return found->second;
    const std::uint64_t at = header_->name_bytes.load(std::memory_order_relaxed);
    if (at + text.size() + 1 > kNameBytes)
        return 0;
    text.copy(names_ + at, text.size()); // a zero follows it
    header_->name_bytes.store(at + text.size() + 1, std::memory_order_release);
    return known_.emplace(text, static_cast<std::uint32_t>(at)).first->second;
}

std::uint16_t Buffer::add_communicator(int rank, int size, std::string_view name_) {
    const std::uint32_t number = header_->communicators.fetch_add(1, std::memory_order_relaxed);
    if (number >= kCommunicators)
        return kCommunicators - 1; // communicators beyond the limit share one line
    CommunicatorLine &line = header_->lines[number];
    line.name.store(name(name_), std::memory_order_relaxed);
    line.rank.store(rank, std::memory_order_relaxed);
    line.size.store(size, std::memory_order_release);
    return static_cast<std::uint16_t>(number);
}

void Buffer::set_offset(std::int64_t nanoseconds) {
    header_->offset_ns.store(nanoseconds, std::memory_order_relaxed);
    header_->offset_known.store(1, std::memory_order_release);
}

void Buffer::write_json() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t head = header_->head.load(std::memory_order_acquire);
    if (written_ == head + 1)
        return;
    const std::string fresh = json_path_ + ".new"; // a reader never finds half a file
    write_events(read_log({raw_.memory(), raw_.bytes()}, raw_.path()), fresh);
    if (rename(fresh.c_str(), json_path_.c_str()) != 0)
        throw_errno("cannot write a trace: cannot rename the new " + json_path_);
    written_ = head + 1;
}

} // namespace stretto::trace

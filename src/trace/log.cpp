// SPDX-License-Identifier: BSD-3-Clause
#include "trace/log.hpp"

#include <algorithm>
#include <bit>

#include "base/status.hpp"

namespace stretto::trace {

namespace {

std::optional<Record> record_of(const Slot &slot, std::uint64_t index) {
    if (slot.stamp.load(std::memory_order_acquire) != index + 1)
        return std::nullopt; // being written, or never completed because the rank died
    std::array<std::uint64_t, kWords> words;
    for (std::size_t i = 0; i < kWords; ++i)
        words[i] = slot.words[i].load(std::memory_order_acquire); // before the second look
    if (slot.stamp.load(std::memory_order_relaxed) != index + 1)
        return std::nullopt;
    return std::bit_cast<Record>(words);
}

} // namespace

std::string Log::name(std::uint64_t number) const {
    if (number >= names.size())
        return "";
    const std::size_t end = names.find('\0', number);
    return names.substr(number, end == std::string::npos ? end : end - number);
}

Log read_log(std::span<const std::byte> bytes, const std::string &path) {
    const auto refuse = [&](const std::string &why) {
        throw Error(Status::argument, path + " " + why);
    };
    if (bytes.size() < kHeaderBytes + kNameBytes)
        refuse("is too short for a trace of Stretto: a rank that has just begun, or a copy that "
               "was cut off");
    const auto &header = *reinterpret_cast<const Header *>(bytes.data());
    if (header.who.magic != kMagic)
        refuse("is no trace of this version of Stretto");
    const std::uint64_t room = (bytes.size() - kHeaderBytes - kNameBytes) / sizeof(Slot);
    if (!std::has_single_bit(header.records) || header.records > room)
        refuse("is cut off: it has room for " + std::to_string(room) + " records of " +
               std::to_string(header.records));
    if (header.who.ranks < 1 || header.who.rank < 0 || header.who.rank >= header.who.ranks)
        refuse("says that it is of rank " + std::to_string(header.who.rank) + " of " +
               std::to_string(header.who.ranks));
    Log log;
    log.job = text_of(header.who.job);
    log.host = text_of(header.who.host);
    log.clock = text_of(header.who.clock);
    log.job_id = header.who.job_id;
    log.rank = header.who.rank;
    log.ranks = header.who.ranks;
    log.pid = header.who.pid;
    if (header.offset_known.load(std::memory_order_acquire) != 0)
        log.offset = header.offset_ns.load(std::memory_order_relaxed);
    const std::uint64_t name_bytes =
        std::min<std::uint64_t>(kNameBytes, header.name_bytes.load(std::memory_order_acquire));
    log.names.assign(reinterpret_cast<const char *>(bytes.data() + kHeaderBytes), name_bytes);
    const std::size_t communicators =
        std::min<std::size_t>(kCommunicators, header.communicators.load(std::memory_order_acquire));
    for (std::size_t i = 0; i < communicators; ++i) {
        const CommunicatorLine &line = header.lines[i];
        log.communicators.push_back({line.rank.load(std::memory_order_relaxed),
                                     line.size.load(std::memory_order_acquire),
                                     log.name(line.name.load(std::memory_order_relaxed))});
    }
    const std::uint64_t head = header.head.load(std::memory_order_acquire);
    const std::uint64_t first = head - std::min(head, header.records);
    const auto *slots = reinterpret_cast<const Slot *>(bytes.data() + kHeaderBytes + kNameBytes);
    log.records.reserve(static_cast<std::size_t>(head - first));
    for (std::uint64_t index = first; index != head; ++index)
        if (const auto record = record_of(slots[index & (header.records - 1)], index))
            log.records.push_back(*record);
    log.dropped = head - log.records.size();
    return log;
}

Log read_log(const std::string &path) {
    const std::vector<std::uint64_t> words = read_words(path, "the trace");
    return read_log(std::as_bytes(std::span(words)), path);
}

} // namespace stretto::trace

// SPDX-License-Identifier: BSD-3-Clause
// What waits in a relay: frames, the queue that they wait in, and the flow that a packet is of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <new>
#include <sys/mman.h>

inline constexpr std::size_t kLongestPacket = 65536 + 64;

// How to split a long segment and where its checksum goes: struct virtio_net_hdr, whose header file
// not every C++ compiler takes.
struct OffloadHeader {
    std::uint8_t flags, kind;
    std::uint16_t headers_length, segment, checksum_start, checksum_offset;
};
inline constexpr std::uint8_t kNeedsChecksum = 1; // a flag
inline constexpr std::uint8_t kWhole = 0;         // a kind: nothing to split

// A frame as it goes to the wire: the offload header, the Ethernet header, the packet.
struct [[gnu::packed]] Headers {
    OffloadHeader offload;
    ether_header ethernet;
};

// Frames of a lane in order of release, in a ring.  A frame lies in one piece: where the longest
// would not fit in front of the end, the next one starts at the beginning.  Of three times the
// longest frame that the ring holds beside the limit, one is for what the last frame has above it,
// one is lost at the end of the ring, and one is for a frame that is read only to be dropped.
class Queue {
public:
    explicit Queue(std::size_t limit) : size_(limit + 3 * kSpace) {
        void *memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        memory_ = static_cast<char *>(memory);
    }

    bool empty() const { return bytes_ == 0; }
    std::size_t bytes() const { return bytes_; }

    // Room for a frame of the longest kind; nothing is queued before `push`.
    char *room() { return memory_ + tail_ + kRecord; }

    void push(std::int64_t due, std::size_t length) {
        const Record record{due, length};
        std::memcpy(memory_ + tail_, &record, kRecord);
        bytes_ += step(length);
        tail_ = next(tail_, length);
    }

    std::int64_t due() const { return front().due; }
    std::size_t length() const { return front().length; }
    char *frame() { return memory_ + head_ + kRecord; }

    void pop() {
        const std::size_t length = front().length;
        bytes_ -= step(length);
        head_ = next(head_, length);
    }

private:
    struct Record {
        std::int64_t due;
        std::size_t length;
    };
    static constexpr std::size_t kRecord = sizeof(Record);
    static constexpr std::size_t kSpace = kRecord + sizeof(Headers) + kLongestPacket;

    static std::size_t step(std::size_t length) {
        return (kRecord + length + alignof(Record) - 1) & ~(alignof(Record) - 1);
    }
    std::size_t next(std::size_t place, std::size_t length) const {
        const std::size_t after = place + step(length);
        return after + kSpace <= size_ ? after : 0;
    }
    Record front() const {
        Record record;
        std::memcpy(&record, memory_ + head_, kRecord);
        return record;
    }

    std::size_t size_, head_ = 0, tail_ = 0, bytes_ = 0;
    char *memory_ = nullptr;
};

inline std::uint64_t
mixed(std::uint64_t value) { // Steele, Lea, Flood 2014: the finalizer of SplitMix
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

// The same number for all packets of a flow.  Of what has no ports, or was split into fragments of
// which only the first has them, the addresses decide.
inline std::uint64_t flow_of(const std::uint8_t *packet, std::size_t length) {
    const bool is_4 = packet[0] >> 4 == 4;
    const std::size_t header = is_4 ? std::size_t{packet[0] & 15u} * 4 : 40;
    const int protocol = packet[is_4 ? 9 : 6];
    const bool fragment = is_4 && ((packet[6] & 0x3f) | packet[7]) != 0;
    const bool ports = (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && !fragment;
    std::uint64_t flow = 0;
    const auto include = [&](const std::uint8_t *from, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            flow = mixed(flow * 257 + from[i] + 1);
    };
    include(packet + (is_4 ? 12 : 8), is_4 ? 8 : 32);
    if (ports && length >= header + 4)
        include(packet + header, 4);
    return flow;
}

// SPDX-License-Identifier: BSD-3-Clause
// Adds latency to the link of one host, for programs that know nothing of it.
//
//     relay TUN WIRE DELAY_NS JITTER_NS SEED LIMIT_BYTES LEAD_NS RATE MTU STATISTICS
//
// What the host sends comes out of the TUN device; after exactly the delay it goes out on WIRE, in
// the order in which it came.  What others send needs no relay here: theirs have delayed it.  At
// most LIMIT_BYTES wait; what comes on top is dropped, as a router drops it.  Segments stay as
// long as the kernel made them (up to 64 KiB): both devices pass on the header by which the last
// one on the way splits them.
//
// With a jitter, each packet is held for up to JITTER_NS more, by chance (SEED).  Packets of one
// flow keep their order, flows overtake one another: each is in one of 64 lanes, by its addresses
// and ports, and a packet leaves no earlier than the one in front of it in its lane.
//
// Before a release it polls for at most LEAD_NS.
//
// RATE, bits per second: a packet goes out later by what its first frame (of MTU bytes at most)
// takes at that rate, for a bucket on the wire that lets one frame pass at once after a pause.
// 0: it does not.
//
// STATISTICS is a file that `lab/cluster status` reads while we write it.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "relay_queue.hpp"

namespace {

constexpr std::size_t kLanes = 64; // with a jitter
constexpr int kReadsBetweenReleases = 16;
constexpr std::int64_t kLeadMemory = 16; // the weight of the past in its average

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "relay: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

int checked(int result, const std::string &what) {
    if (result < 0)
        fail(what);
    return result;
}

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

// The precision of the relay; lab/relay.py reads this layout.
struct Statistics {
    std::atomic<std::uint64_t> packets, bytes, dropped, late_ns_sum, late_ns_most;
    std::array<std::atomic<std::uint64_t>, 32> late_us; // [i]: less than 2^i us after its time
};

Statistics &mapped_statistics(const char *path) {
    const int file = checked(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644), path);
    checked(ftruncate(file, sizeof(Statistics)), path);
    void *memory = mmap(nullptr, sizeof(Statistics), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        fail(path);
    close(file);
    return *static_cast<Statistics *>(memory);
}

int open_tun(const char *name) {
    const int tun = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    checked(ioctl(tun, TUNSETIFF, &request), std::string("making the TUN device ") + name);
    checked(ioctl(tun, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), "TUNSETOFFLOAD");
    return tun;
}

struct Wire {
    int socket;
    std::array<std::uint8_t, ETH_ALEN> address;
};

Wire open_wire(const char *name) {
    Wire wire{
        checked(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "a packet socket"),
        {}};
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    checked(ioctl(wire.socket, SIOCGIFHWADDR, &request), name);
    std::memcpy(wire.address.data(), request.ifr_hwaddr.sa_data, ETH_ALEN);
    const int on = 1, bytes = 64 << 20;
    checked(setsockopt(wire.socket, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on),
            "PACKET_VNET_HDR");
    checked(setsockopt(wire.socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes),
            "SO_SNDBUFFORCE");
    sockaddr_ll to{}; // no protocol: we hear nothing
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex(name));
    checked(bind(wire.socket, reinterpret_cast<sockaddr *>(&to), sizeof to), name);
    return wire;
}

// Fills in the Ethernet header; false if the packet has no single destination.  The last two bytes
// of a host's addresses are the same in IPv4, IPv6 and Ethernet (lab/names.py).
bool address_frame(Headers &headers, const std::uint8_t *packet, std::size_t length,
                   const Wire &wire) {
    const int version = length > 0 ? packet[0] >> 4 : 0;
    const bool is_4 = version == 4 && length >= 20, is_6 = version == 6 && length >= 40;
    if (!is_4 && !is_6)
        return false;
    const std::uint8_t *to = packet + (is_4 ? 16 : 24);
    if (is_4 ? to[0] >= 224 : to[0] == 0xff)
        return false;
    const std::uint8_t *last = to + (is_4 ? 2 : 14);
    ether_header &ethernet = headers.ethernet;
    std::copy(wire.address.begin(), wire.address.end(), ethernet.ether_shost);
    std::copy(wire.address.begin(), wire.address.end(), ethernet.ether_dhost);
    std::copy(last, last + 2, ethernet.ether_dhost + 4);
    ethernet.ether_type = htons(is_4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
    // Offsets in the offload header count from what is now in front of the packet.
    if (headers.offload.flags & kNeedsChecksum)
        headers.offload.checksum_start += sizeof(ether_header);
    if (headers.offload.kind != kWhole)
        headers.offload.headers_length += sizeof(ether_header);
    return true;
}

struct Options {
    std::int64_t delay, jitter;
    std::uint64_t seed;
    std::size_t limit;
    std::int64_t most_lead, rate;
    std::size_t mtu;
};

struct Lane {
    Queue queue;
    std::int64_t last_due = 0;
};

class Relay {
public:
    Relay(int tun, Wire wire, const Options &options, Statistics &statistics)
        : tun_(tun), wire_(wire), options_(options), statistics_(statistics),
          timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")),
          events_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")) {
        for (std::size_t i = 0; i < (options.jitter > 0 ? kLanes : 1); ++i)
            lanes_.push_back({Queue(options.limit)});
        for (const int each : {tun_, timer_}) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.fd = each;
            checked(epoll_ctl(events_, EPOLL_CTL_ADD, each, &event), "epoll_ctl");
        }
    }

    [[noreturn]] void run() {
        for (;;) {
            const bool more = take();
            release();
            if (!more)
                sleep();
        }
    }

private:
    // Reads what the host sends; true if there may be more.
    bool take() {
        for (int i = 0; i < kReadsBetweenReleases; ++i) {
            // Into the lane of the packet before, where the next one is likely to belong.
            char *room = lanes_[lane_].queue.room();
            auto *headers = reinterpret_cast<Headers *>(room);
            auto *packet = reinterpret_cast<std::uint8_t *>(headers + 1);
            const std::array<iovec, 2> parts{iovec{&headers->offload, sizeof headers->offload},
                                             iovec{packet, kLongestPacket}};
            const ssize_t got = readv(tun_, parts.data(), parts.size());
            if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
            if (got < 0)
                fail("reading from the TUN device");
            const std::size_t length = static_cast<std::size_t>(got) - sizeof headers->offload;
            if (!address_frame(*headers, packet, length, wire_))
                continue;
            if (waiting() >= options_.limit) {
                add(statistics_.dropped, 1);
                continue;
            }
            if (lanes_.size() > 1)
                lane_ = flow_of(packet, length) % lanes_.size();
            Lane &lane = lanes_[lane_];
            if (lane.queue.room() != room)
                std::memcpy(lane.queue.room(), room, sizeof(Headers) + length);
            lane.queue.push(due(lane, length), sizeof(Headers) + length);
        }
        return true;
    }

    std::size_t waiting() const {
        std::size_t bytes = 0;
        for (const Lane &lane : lanes_)
            bytes += lane.queue.bytes();
        return bytes;
    }

    // In the order in which they came in the lane, however short.
    std::int64_t due(Lane &lane, std::size_t length) {
        const std::size_t first = std::min(length, options_.mtu) + sizeof(ether_header);
        const std::int64_t takes =
            options_.rate > 0 ? static_cast<std::int64_t>(first) * 8'000'000'000 / options_.rate
                              : 0;
        lane.last_due = std::max(lane.last_due, now_ns() + options_.delay + chance() + takes);
        return lane.last_due;
    }

    std::int64_t chance() {
        if (options_.jitter == 0)
            return 0;
        options_.seed += 0x9e3779b97f4a7c15;
        const auto most = static_cast<std::uint64_t>(options_.jitter);
        return static_cast<std::int64_t>(mixed(options_.seed) % (most + 1));
    }

    // The lane whose first packet is due first; nullptr if nothing waits.
    Queue *next() {
        Queue *first = nullptr;
        for (Lane &lane : lanes_)
            if (!lane.queue.empty() && (!first || lane.queue.due() < first->due()))
                first = &lane.queue;
        return first;
    }

    void release() {
        for (Queue *queue = next(); queue; queue = next()) {
            const std::int64_t late = now_ns() - queue->due();
            if (late < 0)
                return;
            count_lateness(late);
            const ssize_t sent = write(wire_.socket, queue->frame(), queue->length());
            add(sent < 0 ? statistics_.dropped : statistics_.packets, 1);
            if (sent > 0)
                add(statistics_.bytes, static_cast<std::uint64_t>(sent) - sizeof(Headers));
            queue->pop();
        }
    }

    // Until there is something to read or to release.  Waking takes tens of microseconds, so we
    // have ourselves woken earlier by what it took of late, and poll for the rest.
    void sleep() {
        const Queue *first = next();
        const bool waiting = first != nullptr;
        const std::int64_t wake = waiting ? first->due() - lead_ : 0;
        if (waiting && now_ns() >= wake)
            return;
        if (waiting) {
            itimerspec when{};
            when.it_value.tv_sec = wake / 1'000'000'000;
            when.it_value.tv_nsec = wake % 1'000'000'000;
            checked(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
        }
        epoll_event event{};
        const int ready = epoll_wait(events_, &event, 1, -1);
        if (ready < 0 && errno != EINTR)
            fail("epoll_wait");
        if (ready < 1 || event.data.fd != timer_)
            return;
        std::uint64_t expirations;
        const bool expired = read(timer_, &expirations, sizeof expirations) > 0;
        // With nothing waiting it is an old one, which polling was quicker than.
        if (expired && waiting)
            lead_ = std::min(options_.most_lead, lead_ + (now_ns() - wake - lead_) / kLeadMemory);
    }

    // Only this thread writes.
    static void add(std::atomic<std::uint64_t> &counter, std::uint64_t value) {
        counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
    }

    void count_lateness(std::int64_t late) {
        const auto ns = static_cast<std::uint64_t>(late);
        add(statistics_.late_ns_sum, ns);
        if (ns > statistics_.late_ns_most.load(std::memory_order_relaxed))
            statistics_.late_ns_most.store(ns, std::memory_order_relaxed);
        const auto bucket = static_cast<std::size_t>(std::bit_width(ns / 1000));
        add(statistics_.late_us[std::min(bucket, statistics_.late_us.size() - 1)], 1);
    }

    int tun_;
    Wire wire_;
    Options options_;
    std::vector<Lane> lanes_;
    std::size_t lane_ = 0; // of the packet before
    Statistics &statistics_;
    int timer_, events_;
    std::int64_t lead_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 11) {
        std::fprintf(stderr, "usage: relay TUN WIRE DELAY_NS JITTER_NS SEED LIMIT_BYTES LEAD_NS "
                             "RATE MTU STATISTICS\n");
        return 2;
    }
    const auto number = [&](int which) { return std::strtoll(argv[which], nullptr, 10); };
    const auto size = [&](int which) { return std::strtoull(argv[which], nullptr, 10); };
    Relay relay(open_tun(argv[1]), open_wire(argv[2]),
                {number(3), number(4), size(5), size(6), number(7), number(8), size(9)},
                mapped_statistics(argv[10]));
    // The parent process waits for this line before it configures the device.
    std::puts("ready");
    std::fclose(stdout);
    relay.run();
}

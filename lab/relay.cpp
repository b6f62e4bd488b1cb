// SPDX-License-Identifier: BSD-3-Clause
// Adds latency to the link of one host, for programs that know nothing of it.
//
//     relay TUN WIRE DELAY_NS LIMIT_BYTES LEAD_NS RATE STATISTICS
//
// What the host sends comes out of the TUN device; after exactly the delay it goes out on WIRE, in
// the order in which it came.  What others send needs no relay here: theirs have delayed it.  At
// most LIMIT_BYTES wait; what comes on top is dropped, as a router drops it.  Segments stay as
// long as the kernel made them (up to 64 KiB): both devices pass on the header by which the last
// one on the way splits them.
//
// Before a release it polls for at most LEAD_NS.
//
// RATE, bits per second: a packet goes out later by what its first frame takes at that rate, for a
// bucket on the wire that lets one frame pass at once after a pause.  0: it does not.
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

namespace {

constexpr std::size_t kLongestPacket = 65536 + 64;
constexpr std::size_t kMostOfFrame = 1500; // of a packet
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

// How exact we are; lab/relay.py knows the layout.
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

// How to split a long segment and where its checksum goes: struct virtio_net_hdr, whose header file
// not every C++ compiler takes.
struct OffloadHeader {
    std::uint8_t flags, kind;
    std::uint16_t headers_length, segment, checksum_start, checksum_offset;
};
constexpr std::uint8_t kNeedsChecksum = 1; // a flag
constexpr std::uint8_t kWhole = 0;         // a kind: nothing to split

// A frame as it goes to the wire: the offload header, the Ethernet header, the packet.
struct [[gnu::packed]] Headers {
    OffloadHeader offload;
    ether_header ethernet;
};

// Frames in order of release, in a ring.  A frame lies in one piece: where the longest would not
// fit in front of the end, the next one starts at the beginning.  Of three times the longest frame
// that the ring holds beside the limit, one is for what the last frame has above it, one is lost at
// the end of the ring, and one is for a frame that is read only to be dropped.
class Queue {
public:
    explicit Queue(std::size_t limit) : limit_(limit), size_(limit + 3 * kSpace) {
        void *memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            fail("memory for " + std::to_string(limit) + " bytes that wait");
        memory_ = static_cast<char *>(memory);
    }

    bool empty() const { return bytes_ == 0; }
    bool full() const { return bytes_ >= limit_; }

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

    std::size_t limit_, size_, head_ = 0, tail_ = 0, bytes_ = 0;
    char *memory_ = nullptr;
};

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

// Fills in the Ethernet header; false if the packet is for nobody in particular.  The last two
// bytes of a host's addresses are the same in IPv4, IPv6 and Ethernet (lab/names.py).
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

class Relay {
public:
    Relay(int tun, Wire wire, std::int64_t delay, std::size_t limit, std::int64_t most_lead,
          std::int64_t rate, Statistics &statistics)
        : tun_(tun), wire_(wire), delay_(delay), most_lead_(most_lead), rate_(rate), queue_(limit),
          statistics_(statistics),
          timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")),
          events_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")) {
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
            auto *headers = reinterpret_cast<Headers *>(queue_.room());
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
            if (queue_.full())
                add(statistics_.dropped, 1);
            else
                queue_.push(due(length), sizeof(Headers) + length);
        }
        return true;
    }

    // In the order in which they came, however short.
    std::int64_t due(std::size_t length) {
        const std::size_t first = std::min(length, kMostOfFrame) + sizeof(ether_header);
        const std::int64_t takes =
            rate_ > 0 ? static_cast<std::int64_t>(first) * 8'000'000'000 / rate_ : 0;
        last_due_ = std::max(last_due_, now_ns() + delay_ + takes);
        return last_due_;
    }

    void release() {
        for (std::int64_t now = now_ns(); !queue_.empty() && queue_.due() <= now; now = now_ns()) {
            count_lateness(now - queue_.due());
            const ssize_t sent = write(wire_.socket, queue_.frame(), queue_.length());
            add(sent < 0 ? statistics_.dropped : statistics_.packets, 1);
            if (sent > 0)
                add(statistics_.bytes, static_cast<std::uint64_t>(sent) - sizeof(Headers));
            queue_.pop();
        }
    }

    // Until there is something to read or to release.  Waking takes tens of microseconds, so we
    // have ourselves woken earlier by what it took of late, and poll for the rest.
    void sleep() {
        const bool waiting = !queue_.empty();
        const std::int64_t wake = waiting ? queue_.due() - lead_ : 0;
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
            lead_ = std::min(most_lead_, lead_ + (now_ns() - wake - lead_) / kLeadMemory);
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
    std::int64_t delay_, most_lead_, rate_, last_due_ = 0;
    Queue queue_;
    Statistics &statistics_;
    int timer_, events_;
    std::int64_t lead_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 8) {
        std::fprintf(stderr,
                     "usage: relay TUN WIRE DELAY_NS LIMIT_BYTES LEAD_NS RATE STATISTICS\n");
        return 2;
    }
    const std::int64_t delay = std::strtoll(argv[3], nullptr, 10);
    const std::size_t limit = std::strtoull(argv[4], nullptr, 10);
    const std::int64_t most_lead = std::strtoll(argv[5], nullptr, 10);
    const std::int64_t rate = std::strtoll(argv[6], nullptr, 10);
    Relay relay(open_tun(argv[1]), open_wire(argv[2]), delay, limit, most_lead, rate,
                mapped_statistics(argv[7]));
    // Whoever started us waits for this line before it configures the device.
    std::puts("ready");
    std::fclose(stdout);
    relay.run();
}

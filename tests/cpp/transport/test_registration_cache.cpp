// SPDX-License-Identifier: BSD-3-Clause
// Callers' buffers that are registered once and sent from where they lie: how often that takes a
// registration, what is sent after memory was unmapped and mapped anew, and how much is kept.
#include "transport/ucx_ranks.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <sys/mman.h>

#include "support/verbs.hpp"
#include "transport/shm/heap.hpp"
#include "transport/ucx/registration_cache.hpp"

using namespace stretto;
using test::numbered;
using test::World;
using transport::RegistrationCache;
using transport::WireMessage;
namespace ucp = transport::ucp;

namespace {

constexpr std::size_t kRingBytes = 1 << 16;

std::shared_ptr<const ucp::OwnedContext> context() {
    return std::make_shared<const ucp::OwnedContext>(ucp::library(), 1);
}

// Two ranks, of which the first has registered buffers.
struct Senders {
    World world{kRingBytes};
    std::shared_ptr<RegistrationCache> cache =
        std::make_shared<RegistrationCache>(world.a.context, 16 * kRingBytes);
    std::uint64_t cells = 0;

    Senders() { world.a.links->use(cache); }
    // What the reader has of a cell that is sent straight from there.
    std::vector<std::byte> sent(const std::byte *from, std::size_t bytes) {
        REQUIRE(world.soon([&] { return world.a.links->sends_from(1, from, bytes); }));
        const WireMessage cell{
            WireMessage::cell, WireMessage::kBulk, static_cast<std::uint32_t>(bytes),
            64 * cells,        1000 + cells,       0};
        world.a.links->send(1, cell, from, false);
        world.a.links->push(transport::Links::Which::all);
        REQUIRE(world.soon([&] { return world.b.inbox.order.size() == cells + 1; }));
        ++cells;
        const auto bulk = world.b.window.begin() + kRingBytes;
        return {bulk, bulk + static_cast<std::ptrdiff_t>(bytes)};
    }
};

// Anonymous memory, at an address of one's own choice.
std::byte *mapped(std::size_t bytes, void *at = nullptr) {
    void *const memory = mmap(at, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return static_cast<std::byte *>(memory);
}

} // namespace

TEST_CASE("a buffer is registered once, and its bytes are copied at neither end") {
    Senders senders;
    std::vector<std::byte> buffer(kRingBytes);
    constexpr std::uint64_t times = 5;
    for (std::uint64_t time = 0; time < times; ++time) {
        std::ranges::copy(numbered(kRingBytes, time), buffer.begin());
        CHECK(senders.sent(buffer.data(), buffer.size()) == buffer);
    }
    const RegistrationCache::Counts counts = senders.cache->counts();
    CHECK(counts.registrations == 1);
    CHECK(counts.hits == times - 1);
    CHECK(counts.unmapped == 0);
    CHECK(senders.cache->bytes() == kRingBytes);
    CHECK(senders.world.a.context->registered_bytes(ucp::MemoryUse::buffer) == kRingBytes);
    CHECK(senders.world.a.links->counts().put_from_buffers_bytes == times * kRingBytes);
    CHECK(senders.world.b.links->counts().copies == 0);
    // Parts of what is registered need nothing more.
    CHECK(senders.sent(buffer.data(), kRingBytes / 2) ==
          std::vector<std::byte>(buffer.begin(), buffer.begin() + kRingBytes / 2));
    CHECK(senders.cache->counts().registrations == 1);
}

TEST_CASE("memory that was unmapped and mapped anew at its address is sent as it is then") {
    enum class Way { unmap, map_over, move_away, discard };
    for (const Way way : {Way::unmap, Way::map_over, Way::move_away, Way::discard}) {
        CAPTURE(static_cast<int>(way));
        Senders senders;
        std::byte *const memory = mapped(2 * kRingBytes); // of which the first half is sent
        const std::vector<std::byte> first = numbered(kRingBytes, 1),
                                     second = numbered(kRingBytes, 2);
        std::memcpy(memory, first.data(), kRingBytes);
        CHECK(senders.sent(memory, kRingBytes) == first);
        void *elsewhere = nullptr;
        switch (way) {
        case Way::unmap: REQUIRE(munmap(memory, kRingBytes) == 0); break;
        case Way::map_over: break;
        case Way::move_away:
            // It cannot grow where it is.  (UCX 1.13's hook drops the address of MREMAP_FIXED.)
            elsewhere = mremap(memory, kRingBytes, 2 * kRingBytes, MREMAP_MAYMOVE);
            REQUIRE(elsewhere != MAP_FAILED);
            REQUIRE(elsewhere != memory);
            break;
        case Way::discard: REQUIRE(madvise(memory, kRingBytes, MADV_DONTNEED) == 0); break;
        }
        if (way != Way::discard)
            REQUIRE(mapped(kRingBytes, memory) == memory);
        std::memcpy(memory, second.data(), kRingBytes);
        CHECK(senders.sent(memory, kRingBytes) == second);
        const RegistrationCache::Counts counts = senders.cache->counts();
        CHECK(counts.registrations == 2);
        CHECK(counts.unmapped == 1);
        CHECK(senders.cache->bytes() == kRingBytes);
        (void)munmap(memory, 2 * kRingBytes);
        if (elsewhere != nullptr)
            (void)munmap(elsewhere, 2 * kRingBytes);
    }
}

TEST_CASE("what stretto_free has taken back is registered no more") {
    constexpr std::size_t bytes = 50'000;
    transport::SegmentShape shape;
    shape.ranks = 1;
    shape.ring_bytes = kRingBytes;
    shape.heap_bytes = 1 << 20;
    const auto segment = transport::Segment::create(shape);
    transport::Heap heap(segment, 0);
    RegistrationCache cache(context(), 1 << 20);
    auto *const memory = static_cast<std::byte *>(heap.allocate(bytes));
    REQUIRE(cache.take(memory, bytes) != nullptr);
    heap.free(memory);
    REQUIRE(heap.allocate(bytes) == memory); // in other pages
    CHECK(cache.find(memory, bytes) == nullptr);
    CHECK(cache.counts().unmapped == 1);
}

TEST_CASE("registrations are bounded, and the least recently used goes first") {
    constexpr std::size_t bytes = 10'000;
    RegistrationCache cache(context(), 3 * bytes);
    std::vector<std::vector<std::byte>> buffers(5, std::vector<std::byte>(bytes));
    const auto take = [&](std::size_t i) { return cache.take(buffers[i].data(), bytes); };
    for (const std::size_t i : {0u, 1u, 2u, 0u})
        CHECK(take(i) != nullptr);
    CHECK(cache.counts().registrations == 3);
    const std::optional<test::Verbs> before = test::asked_of_devices();
    CHECK(take(3) != nullptr);           // in place of 1
    if (before && test::deregisters()) { // which the device has forgotten
        CHECK(test::asked_of_devices()->registrations == before->registrations + 1);
        CHECK(test::asked_of_devices()->deregistrations == before->deregistrations + 1);
    }
    CHECK(cache.bytes() == 3 * bytes);
    CHECK(cache.counts().evicted == 1);
    CHECK(cache.find(buffers[1].data(), bytes) == nullptr);
    CHECK(cache.find(buffers[0].data(), bytes) != nullptr);
    // What is in use stays, though others were used later.
    const RegistrationCache::Registration zero = take(0), two = take(2), three = take(3);
    CHECK(take(4) == nullptr);
    CHECK(cache.counts().evicted == 1);
    CHECK(cache.take(buffers[4].data(), 3 * bytes + 1) == nullptr);
    CHECK(cache.counts().registrations == 4);
}

TEST_CASE("a registration in use outlives its memory's place in the cache") {
    const auto own = context();
    RegistrationCache cache(own, 1 << 20);
    std::byte *const memory = mapped(kRingBytes);
    RegistrationCache::Registration held = cache.take(memory, kRingBytes);
    REQUIRE(held != nullptr);
    REQUIRE(munmap(memory, kRingBytes) == 0);
    CHECK(cache.find(memory, kRingBytes) == nullptr);
    CHECK(cache.bytes() == 0);
    CHECK(own->registered_bytes(ucp::MemoryUse::buffer) == kRingBytes);
    held.reset();
    CHECK(own->registered_bytes(ucp::MemoryUse::buffer) == 0);
}

TEST_CASE("however many ranges are unmapped between two sends, none is forgotten") {
    RegistrationCache cache(context(), 1 << 24);
    constexpr std::size_t pages = 200, page = 65536; // of any machine
    std::byte *const memory = mapped(pages * page);
    for (std::size_t i = 0; i < pages; ++i)
        REQUIRE(cache.take(memory + i * page, page) != nullptr);
    for (std::size_t i = 0; i < pages; i += 2)
        REQUIRE(munmap(memory + i * page, page) == 0);
    for (std::size_t i = 0; i < pages; i += 2)
        CHECK(cache.find(memory + i * page, page) == nullptr);
    REQUIRE(munmap(memory, pages * page) == 0);
}

TEST_CASE("without word of unmapped memory there is no cache") {
    ucp::Library deaf = ucp::library();
    deaf.memory_events_on = [](int, int, ucp::MemoryEvent::Handler, void *) {
        return ucp::Status::busy;
    };
    deaf.memory_events_off = [](int, ucp::MemoryEvent::Handler, void *) {};
    const auto own = std::make_shared<const ucp::OwnedContext>(deaf, 1);
    CHECK_THROWS_WITH_AS(RegistrationCache(own, 1 << 20),
                         doctest::Contains("tell of memory that is unmapped"), Error);
}

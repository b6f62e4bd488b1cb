// SPDX-License-Identifier: BSD-3-Clause
// The engine over UCX and its TCP: exact answers, by puts and by messages, and exact numbers of
// operations and copies.  Needs libucp.so.0.
#include "doctest.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "engine/hosts_world.hpp"
#include "support/ucx_settings.hpp"
#include "support/verbs.hpp"
#include "transport/remote/payloads.hpp"
#include "transport/remote/put_window.hpp"
#include "transport/ucx/ucx_links.hpp"

using namespace stretto;
using stretto::test::Vector;
using transport::RegistrationCache;
using transport::UcxCounts;
using transport::UcxLinks;
namespace ucp = transport::ucp;

namespace {

// Connects the ranks of a world, each on its own thread.
class Connections {
public:
    // `puts`: ranks let others write into their mirrors.  `buffer_bytes`: that much of callers'
    // buffers may be registered, by each rank.
    Connections(const stretto::test::World &world, bool puts, std::size_t buffer_bytes)
        : world_(world), puts_(puts), buffer_bytes_(buffer_bytes), met_(world.ranks()),
          addresses_(static_cast<std::size_t>(world.ranks())), links_(addresses_.size()),
          counts_(addresses_.size()), buffers_(addresses_.size()) {}

    std::unique_ptr<transport::Links> connect(transport::EventSet &events,
                                              transport::Segment &segment, int rank) {
        const auto me = static_cast<std::size_t>(rank);
        const int ranks = world_.ranks();
        auto worker = std::make_unique<ucp::OwnedWorker>(
            std::make_shared<const ucp::OwnedContext>(ucp::library(), addresses_.size()));
        addresses_[me] = worker->address();
        std::vector<std::optional<UcxLinks::Tokens>> tokens(addresses_.size());
        const auto token = [](int from, int to) {
            transport::LinkToken bytes{};
            bytes[0] = static_cast<std::byte>(from + 1);
            bytes[1] = static_cast<std::byte>(to + 1);
            return bytes;
        };
        for (int other = 0; other < ranks; ++other)
            if (!segment.here(other))
                tokens[static_cast<std::size_t>(other)] =
                    UcxLinks::Tokens{token(rank, other), token(other, rank)};
        std::shared_ptr<RegistrationCache> buffers;
        if (buffer_bytes_ != 0)
            buffers = std::make_shared<RegistrationCache>(worker->context(), buffer_bytes_);
        auto links = std::make_unique<UcxLinks>(std::move(worker), rank, tokens);
        links->use(buffers);
        met_.arrive_and_wait();
        for (int other = 0; other < ranks; ++other)
            if (!segment.here(other))
                links->meet(other, "node", addresses_[static_cast<std::size_t>(other)]);
        const auto connected = [&] {
            for (int other = 0; other < ranks; ++other)
                if (!segment.here(other) && !links->connected(other))
                    return false;
            return true;
        };
        while (!connected())
            links->connect();
        links->join(events);
        links->put_anyhow();
        links->register_rings(segment.open_window(rank));
        for (int other = 0; other < ranks; ++other)
            if (!segment.here(other))
                links->offer(other, puts_ ? segment.open_window(other) : transport::PutWindow());
        // So that it is known which contributions are sent from where they lie.
        for (int other = 0; other < ranks; ++other)
            while (!segment.here(other) && !links->offered(other))
                links->connect();
        links_[me] = links.get();
        buffers_[me] = buffers;
        met_.arrive_and_wait();
        if (rank == 0)
            before_ = ::test::asked_of_devices();
        met_.arrive_and_wait();
        return links;
    }
    // What devices were asked for since all ranks were connected.
    std::optional<::test::Verbs> asked() const {
        std::optional<::test::Verbs> now = ::test::asked_of_devices();
        if (now) {
            now->registrations -= before_->registrations;
            now->writes -= before_->writes;
            now->written_bytes -= before_->written_bytes;
        }
        return now;
    }
    void note(int rank) {
        const auto me = static_cast<std::size_t>(rank);
        counts_[me] = links_[me]->counts();
    }
    const UcxCounts &of(int rank) const { return counts_[static_cast<std::size_t>(rank)]; }
    RegistrationCache::Counts buffers_of(int rank) const {
        const auto &buffers = buffers_[static_cast<std::size_t>(rank)];
        return buffers != nullptr ? buffers->counts() : RegistrationCache::Counts();
    }

private:
    const stretto::test::World &world_;
    const bool puts_;
    const std::size_t buffer_bytes_;
    std::barrier<> met_;
    std::vector<std::vector<std::byte>> addresses_;
    std::vector<const UcxLinks *> links_;
    std::vector<UcxCounts> counts_;
    std::vector<std::shared_ptr<RegistrationCache>> buffers_;
    std::optional<::test::Verbs> before_;
};

struct RankCounts : UcxCounts {
    RegistrationCache::Counts buffers;
};

std::vector<RankCounts> allreduce(stretto::test::World world, const std::string &algorithm,
                                  std::size_t count, int calls, bool puts,
                                  std::size_t buffer_bytes = 0) {
    CAPTURE(algorithm);
    CAPTURE(world.slice);
    world.timeout_ns = 2 * ::test::patience_ns();
    Connections connections(world, puts, buffer_bytes);
    world.ended = [&](int rank) { connections.note(rank); };
    const schedule::Schedule schedule = algorithms::make(
        algorithms::parse(schedule::Collective::allreduce, algorithm), world.ranks(), 0, {});
    for (const Vector &output :
         stretto::test::play(world, schedule, count, calls,
                             [&](transport::EventSet &events, transport::Segment &segment,
                                 int rank) { return connections.connect(events, segment, rank); }))
        CHECK(stretto::test::wrong_sums(output, world.ranks()) == 0);
    std::vector<RankCounts> counts;
    ::test::Verbs expected;
    for (int rank = 0; rank < world.ranks(); ++rank) {
        counts.push_back({connections.of(rank), connections.buffers_of(rank)});
        const RankCounts &own = counts.back();
        CHECK(own.put_from_buffers_bytes + own.put_from_rings_bytes == own.put_bytes);
        CHECK(own.most_ahead_cells <= 2);
        expected.registrations += own.buffers.registrations;
        expected.writes += own.puts;
        expected.written_bytes += own.put_bytes;
    }
    // UCX copies nothing, else a long put would take several requests, and it registers nothing.
    // 1.13 finds in a cache of its driver what has been deregistered.
    if (const std::optional<::test::Verbs> asked = connections.asked()) {
        if (puts) {
            if (::test::deregisters())
                CHECK(asked->registrations == expected.registrations);
            CHECK(asked->registrations <= expected.registrations);
            CHECK(asked->writes == expected.writes);
            CHECK(asked->written_bytes == expected.written_bytes);
        } else if (buffer_bytes != 0) { // its pools for messages may grow
            CHECK(asked->registrations <= expected.registrations + 2 * counts.size());
        }
    }
    return counts;
}

} // namespace

TEST_CASE("a ring over hosts puts each byte once, and its readers copy none") {
    stretto::test::World world;
    world.host_of = {0, 1, 2};
    world.ring = 1 << 20;
    // Payloads in cells, and in bulk rings.
    for (const std::size_t slice : {std::size_t{1} << 14, std::size_t{1} << 17}) {
        world.slice = slice;
        const auto ranks = static_cast<std::size_t>(world.ranks());
        constexpr std::size_t slices = 6; // of a block: several laps of the rings
        constexpr int calls = 4;
        const std::size_t count = ranks * slices * slice / sizeof(std::int64_t);
        const std::uint64_t cells = 2 * (ranks - 1) * slices * calls;
        for (const RankCounts &each : allreduce(world, "ring", count, calls, true)) {
            CHECK(each.put_cells == cells);
            CHECK(each.put_bytes == cells * slice);
            CHECK(each.puts >= cells);
            CHECK(each.puts <= cells + cells * (slice + 64) / world.ring + 1); // round the end
            CHECK(each.registrations == ranks - 1);
            CHECK(each.registered_bytes == (ranks - 1) * 2 * world.ring);
            CHECK(each.copies == 0);
            CHECK(each.copied_bytes == 0);
        }
        for (const RankCounts &each : allreduce(world, "ring", count, calls, false)) {
            CHECK(each.puts == 0);
            CHECK(each.registrations == 0);
            if (slice < transport::kLeastBulkBytes) // others may be fetched
                CHECK(each.copied_bytes == cells * slice);
        }
    }
}

TEST_CASE("answers are exact by puts, whatever the algorithm, the rings and the slices") {
    stretto::test::World world;
    for (const std::vector<std::int32_t> &placement :
         std::vector<std::vector<std::int32_t>>{{0, 1}, {0, 1, 0, 2, 1}}) {
        world.host_of = placement;
        for (const auto &[ring, slice] : std::vector<std::pair<std::size_t, std::size_t>>{
                 {1 << 15, 1 << 13}, {1 << 17, 40'000}, {1 << 19, 1 << 17}}) {
            world.ring = ring;
            world.slice = slice;
            // The emulated machine of tests/rdma takes seconds for each.
            for (const char *algorithm : {"ring", "direct", "chain", "rabenseifner", "circulant"})
                if (!::test::goes_by_device() || world.ring == 1 << 17)
                    (void)allreduce(world, algorithm, 50'003, 3, true);
        }
    }
}

// Each rank has a block of each other's result to contribute to, in its caller's buffer.
TEST_CASE("contributions go straight from callers' buffers, which are registered once") {
    stretto::test::World world;
    world.host_of = {0, 1, 2};
    world.ring = 1 << 20;
    for (const bool in_place : {false, true})
        for (const std::size_t slice : {std::size_t{1} << 14, std::size_t{1} << 17}) {
            CAPTURE(in_place);
            world.in_place = in_place;
            world.slice = slice;
            const auto ranks = static_cast<std::size_t>(world.ranks());
            constexpr std::size_t slices = 4; // of a block
            constexpr int calls = 3;
            const std::size_t count = ranks * slices * slice / sizeof(std::int64_t);
            const std::uint64_t contributed = (ranks - 1) * slices; // slices, in each call
            for (const RankCounts &each :
                 allreduce(world, "direct", count, calls, true, std::size_t{1} << 30)) {
                CHECK(each.put_cells == 2 * contributed * calls);
                CHECK(each.put_from_buffers_bytes == contributed * calls * slice);
                CHECK(each.buffers.registrations == contributed);
                CHECK(each.buffers.hits == contributed * (calls - 1));
                CHECK(each.copies == 0);
            }
            // Where memory may not be pinned, they are copied, and the sums are the same.
            for (const RankCounts &each :
                 allreduce(world, "direct", count, calls, true, slice - 1)) {
                CHECK(each.put_cells == 2 * contributed * calls);
                CHECK(each.put_from_buffers_bytes == 0);
                CHECK(each.buffers.registrations == 0);
            }
        }
}

// The receiver fetches them, and names the same places of its pool again.
TEST_CASE("long payloads in messages take no registration of their own") {
    const ::test::With fetched("UCX_RNDV_THRESH", "64k");
    stretto::test::World world;
    world.host_of = {0, 1};
    world.ring = 1 << 20;
    world.slice = 1 << 17;
    constexpr int calls = 6;
    const std::size_t count = 2 * 4 * world.slice / sizeof(std::int64_t);
    for (const RankCounts &each :
         allreduce(world, "ring", count, calls, false, std::size_t{1} << 30)) {
        CHECK(each.put_cells == 0);
        CHECK(each.buffers.registrations <= 2 * world.ring / world.slice);
        CHECK(each.buffers.registrations + each.buffers.hits >= 2 * 4 * calls);
    }
}

TEST_CASE("answers are exact from registered buffers, also if registrations come and go") {
    stretto::test::World world;
    world.host_of = {0, 1, 0, 2, 1};
    world.ring = 1 << 17;
    world.slice = 40'000;
    for (const bool in_place : {false, true}) {
        world.in_place = in_place;
        for (const char *algorithm : {"ring", "direct", "rabenseifner"})
            (void)allreduce(world, algorithm, 50'003, 3, true, 100'000);
    }
}

// The rank that comes late has all that it needs when it has sent its own.
TEST_CASE("a call ends when its readers have what lies in the caller's buffer, and not before") {
    stretto::test::World world;
    world.host_of = {0, 1};
    world.ring = 1 << 20;
    world.slice = 1 << 16;
    world.late = std::chrono::milliseconds(60);
    world.delay_ns = 20'000'000;
    world.reuse = true;
    for (const RankCounts &each :
         allreduce(world, "recursive_doubling", 30'000, 2, true, std::size_t{1} << 20))
        CHECK(each.put_from_buffers_bytes == 2 * 30'000 * sizeof(std::int64_t));
}

TEST_CASE("a delay changes nothing but the time") {
    stretto::test::World world;
    world.host_of = {0, 1, 2};
    world.ring = 1 << 17;
    world.slice = 1 << 14;
    world.delay_ns = 100'000;
    for (const RankCounts &each : allreduce(world, "ring", 50'003, 3, true))
        CHECK(each.put_cells > 0);
}

// SPDX-License-Identifier: BSD-3-Clause
// What ranks on several hosts tell one another while they join.
#include "doctest.h"

#include <functional>
#include <vector>

#include "comm/hosts/table.hpp"

using namespace stretto;
using namespace stretto::comm;
using Bytes = std::vector<std::byte>;

namespace {

Seat a_seat() {
    Seat seat;
    seat.rank = 3;
    seat.size = 7;
    seat.port = 29400;
    seat.cores_here = 12;
    seat.launch = 0x0123456789abcdef;
    seat.cores.add(5);
    seat.cores.add(8191);
    seat.address = *net::Address::numeric("fd00::7", 0);
    return seat;
}

Table a_table() {
    Table table;
    table.ring_bytes = 1 << 20;
    table.slice_bytes = 1000;
    table.heap_bytes = 1 << 24;
    table.key = 0x123456789abcdef0;
    table.cores = 3;
    table.sockets = 4;
    table.profile = true;
    table.host_of = {0, 1, 0};
    table.addresses = {*net::Address::numeric("10.0.0.1", 1001),
                       *net::Address::numeric("fd00::7", 1002),
                       *net::Address::numeric("10.0.0.1", 1003)};
    return table;
}

// Whether a table is none any more after this has been done to it.
bool refused(const std::function<void(Table &)> &harm) {
    Table table = a_table();
    harm(table);
    return !parse_table(write(table));
}

template<class Parse>
void check_frame(const Bytes &bytes, Parse parse) {
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(parse(std::span(bytes).first(size)));
    Bytes other = bytes;
    other.push_back(std::byte{0});
    CHECK_FALSE(parse(other));
    other = bytes;
    other[0] ^= std::byte{1}; // another version
    CHECK_FALSE(parse(other));
}

} // namespace

TEST_CASE("a seat is read as it was written, and nothing else is one") {
    const Seat seat = a_seat();
    const auto read = parse_seat(write(seat));
    REQUIRE(read);
    CHECK(read->rank == 3);
    CHECK(read->size == 7);
    CHECK(read->port == 29400);
    CHECK(read->cores_here == 12);
    CHECK(read->launch == 0x0123456789abcdef);
    CHECK(read->cores == seat.cores);
    CHECK(read->address == seat.address);
    CHECK(write(seat).size() <= kMostSeatBytes);
    check_frame(write(seat), parse_seat);
}

TEST_CASE("a seat whose host does not know its address yet has none") {
    Seat seat = a_seat();
    seat.address = {};
    const auto read = parse_seat(write(seat));
    REQUIRE(read);
    CHECK_FALSE(read->address.known());
}

TEST_CASE("a table is read as it was written, and nothing else is one") {
    const Table table = a_table();
    const auto read = parse_table(write(table));
    REQUIRE(read);
    CHECK(read->ring_bytes == table.ring_bytes);
    CHECK(read->slice_bytes == table.slice_bytes);
    CHECK(read->heap_bytes == table.heap_bytes);
    CHECK(read->key == table.key);
    CHECK(read->cores == table.cores);
    CHECK(read->sockets == table.sockets);
    CHECK(read->profile);
    CHECK(read->host_of == table.host_of);
    CHECK(read->addresses == table.addresses);
    CHECK(write(table).size() <= most_table_bytes(3));
    check_frame(write(table), parse_table);
}

TEST_CASE("a table of what cannot be is none") {
    CHECK_FALSE(refused([](Table &) {}));
    CHECK(refused([](Table &table) { table.ring_bytes = 0; }));
    CHECK(refused([](Table &table) { table.ring_bytes = 3 << 12; }));
    CHECK(refused([](Table &table) { table.ring_bytes = 2048; }));
    CHECK(refused([](Table &table) { table.ring_bytes = std::uint64_t{1} << 63; }));
    CHECK(refused([](Table &table) { table.heap_bytes = 0; }));
    CHECK(refused([](Table &table) { table.heap_bytes = 4097; }));
    CHECK(refused([](Table &table) { table.slice_bytes = ~std::uint64_t{0}; }));
    CHECK(refused([](Table &table) { table.key = 0; }));
    CHECK(refused([](Table &table) { table.cores = 0; }));
    CHECK(refused([](Table &table) { table.sockets = 0; }));
    CHECK(refused([](Table &table) { table.sockets = kMostSockets + 1; }));
    CHECK(refused([](Table &table) { table.host_of[1] = 3; }));
    CHECK(refused([](Table &table) { table.host_of[1] = -1; }));
    CHECK(refused([](Table &table) { table.addresses[1] = {}; }));
    CHECK(refused([](Table &table) { table.addresses[1] = table.addresses[1].with_port(0); }));
    CHECK(refused([](Table &table) {
        table.host_of.clear();
        table.addresses.clear();
    }));
}

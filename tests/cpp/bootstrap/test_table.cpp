// SPDX-License-Identifier: BSD-3-Clause
// What ranks on several hosts tell one another while they join.
#include "doctest.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/table.hpp"

using namespace stretto;
using namespace stretto::bootstrap;
using Bytes = std::vector<std::byte>;

namespace {

transport::EndpointAddress endpoint(const std::string &transport, std::uint16_t version,
                                    std::size_t bytes, bool for_data) {
    transport::EndpointAddress address{transport, version, for_data, Bytes(bytes)};
    for (std::size_t i = 0; i < bytes; ++i)
        address.bytes[i] = static_cast<std::byte>(i * 7 + bytes + version);
    return address;
}

RankRecord a_record() {
    RankRecord record;
    record.rank = 3;
    record.size = 7;
    record.cores_here = 12;
    record.launch = 0x0123456789abcdef;
    record.kernel = 0x1122334455667788;
    record.cores.add(5);
    record.cores.add(8191);
    record.endpoints = {endpoint("ucx", 7, 100, true), endpoint("tcp", 1, 20, false)};
    record.lacks = {{"verbs", "no device; load a driver"}, {"tcp", ""}};
    return record;
}

AddressTable a_table() {
    AddressTable table;
    table.ring_bytes = 1 << 20;
    table.slice_bytes = 1000;
    table.heap_bytes = 1 << 24;
    table.key = 0x123456789abcdef0;
    table.cores = 3;
    table.sockets = 4;
    table.profile = true;
    table.one_machine = true;
    table.host_of = {0, 1, 0};
    table.endpoints = {{endpoint("ucx", 1, 300, true), endpoint("tcp", 1, 20, true)},
                       {endpoint("tcp", 2, 0, true)},
                       {endpoint("tcp", 1, 21, false), endpoint("a_2", 65535, 1, true)}};
    return table;
}

// Whether a table is none any more after this has been done to it.
bool refused(const std::function<void(AddressTable &)> &harm) {
    AddressTable table = a_table();
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

TEST_CASE("a record is read as it was written, and nothing else is one") {
    const RankRecord record = a_record();
    const auto read = parse_rank_record(write(record));
    REQUIRE(read);
    CHECK(read->rank == 3);
    CHECK(read->size == 7);
    CHECK(read->cores_here == 12);
    CHECK(read->launch == 0x0123456789abcdef);
    CHECK(read->kernel == 0x1122334455667788);
    CHECK(read->cores == record.cores);
    CHECK(read->endpoints == record.endpoints);
    CHECK(read->lacks == record.lacks);
    CHECK(write(record).size() <= kMostRankRecordBytes);
    check_frame(write(record), parse_rank_record);
}

TEST_CASE("a record has no more, and nothing longer, than it may have") {
    RankRecord record = a_record();
    const auto refused = [&](const std::function<void(RankRecord &)> &harm) {
        RankRecord harmed = record;
        harm(harmed);
        return !parse_rank_record(write(harmed));
    };
    using transport::Endpoints, transport::kMostTransports, transport::kMostAddressBytes;
    Endpoints &most = record.endpoints;
    most.clear();
    record.lacks.clear();
    for (std::size_t i = 0; i < kMostTransports; ++i) {
        const std::string name =
            "t" + std::string(transport::kMostNameBytes - 2, 'x') + static_cast<char>('a' + i);
        most.push_back(endpoint(name, 1, kMostAddressBytes / kMostTransports, true));
        record.lacks.push_back({name, std::string(kMostWhyBytes, 'y')});
    }
    CHECK(write(record).size() <= kMostRankRecordBytes);
    CHECK_FALSE(refused([](RankRecord &) {}));
    CHECK(refused([](RankRecord &each) { each.endpoints[3].bytes.push_back(std::byte{1}); }));
    CHECK(refused([](RankRecord &each) { each.endpoints.push_back(endpoint("tcp", 1, 0, true)); }));
    CHECK(refused(
        [](RankRecord &each) { each.endpoints[3].transport = each.endpoints[2].transport; }));
    CHECK(refused([](RankRecord &each) { each.endpoints[3].transport += 'x'; }));
    for (const char *name : {"", "Tcp", "1tcp", "t-p", "tc p", "_tcp"})
        CHECK(refused([&](RankRecord &each) { each.endpoints[0].transport = name; }));
    CHECK(refused([](RankRecord &each) { each.lacks[0].why += 'y'; }));
    CHECK(refused([](RankRecord &each) { each.lacks[0].transport = "no name"; }));
    CHECK(refused([](RankRecord &each) { each.lacks.push_back({"tcp", ""}); }));
    AddressTable table = a_table();
    table.host_of.assign(5, 1);
    table.endpoints.assign(5, most);
    CHECK(write(table).size() <= most_table_bytes(5));
    CHECK(parse_table(write(table)));
}

TEST_CASE("a table is read as it was written, and nothing else is one") {
    const AddressTable table = a_table();
    const auto read = parse_table(write(table));
    REQUIRE(read);
    CHECK(read->ring_bytes == table.ring_bytes);
    CHECK(read->slice_bytes == table.slice_bytes);
    CHECK(read->heap_bytes == table.heap_bytes);
    CHECK(read->key == table.key);
    CHECK(read->cores == table.cores);
    CHECK(read->sockets == table.sockets);
    CHECK(read->profile);
    CHECK(read->one_machine);
    CHECK(read->host_of == table.host_of);
    CHECK(read->endpoints == table.endpoints);
    CHECK(write(table).size() <= most_table_bytes(3));
    check_frame(write(table), parse_table);
}

TEST_CASE("a table of what cannot be is none") {
    CHECK_FALSE(refused([](AddressTable &) {}));
    CHECK(refused([](AddressTable &table) { table.ring_bytes = 0; }));
    CHECK(refused([](AddressTable &table) { table.ring_bytes = 3 << 12; }));
    CHECK(refused([](AddressTable &table) { table.ring_bytes = 2048; }));
    CHECK(refused([](AddressTable &table) { table.ring_bytes = std::uint64_t{1} << 63; }));
    CHECK(refused([](AddressTable &table) { table.heap_bytes = 0; }));
    CHECK(refused([](AddressTable &table) { table.heap_bytes = 4097; }));
    CHECK(refused([](AddressTable &table) { table.slice_bytes = ~std::uint64_t{0}; }));
    CHECK(refused([](AddressTable &table) { table.key = 0; }));
    CHECK(refused([](AddressTable &table) { table.cores = 0; }));
    CHECK(refused([](AddressTable &table) { table.sockets = 0; }));
    CHECK(refused([](AddressTable &table) { table.sockets = kMostSockets + 1; }));
    CHECK(refused([](AddressTable &table) { table.host_of[1] = 3; }));
    CHECK(refused([](AddressTable &table) { table.host_of[1] = -1; }));
    CHECK(refused([](AddressTable &table) { table.endpoints[1].clear(); }));
    CHECK(refused([](AddressTable &table) { table.endpoints[1][0].transport = "?"; }));
    CHECK(refused([](AddressTable &table) {
        table.host_of.clear();
        table.endpoints.clear();
    }));
}

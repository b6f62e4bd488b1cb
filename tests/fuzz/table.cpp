// SPDX-License-Identifier: BSD-3-Clause
// The table that rank 0 of a job on several hosts sends: any bytes are what they were written as,
// or refused.
#include <bit>
#include <span>

#include "bootstrap/network/table.hpp"
#include "bootstrap/network/tcp_address.hpp"
#include "fuzz.hpp"

using namespace stretto::bootstrap;
using stretto::fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
    const auto table = parse_table(bytes);
    if (!table)
        return 0;
    const std::size_t ranks = table->host_of.size();
    must(ranks > 0 && table->endpoints.size() == ranks, "all ranks have a place");
    must(bytes.size() <= most_table_bytes(static_cast<int>(ranks)), "no table is too long");
    for (const std::int32_t host : table->host_of)
        must(host >= 0 && static_cast<std::size_t>(host) < ranks, "hosts are numbered");
    for (const auto &endpoints : table->endpoints) {
        std::size_t address_bytes = 0;
        for (const auto &each : endpoints) {
            must(stretto::transport::is_transport_name(each.transport), "transports have names");
            must(find(endpoints, each.transport) == &each, "each of them once");
            address_bytes += each.bytes.size();
            if (const auto address = tcp_address(each.bytes))
                must(address->known() && address->port() != 0 &&
                         tcp_address(tcp_bytes(*address)) == address,
                     "an address for TCP can be called, and is written as it was read");
        }
        must(!endpoints.empty() && endpoints.size() <= stretto::transport::kMostTransports &&
                 address_bytes <= stretto::transport::kMostAddressBytes,
             "all can be called, and no address is too long");
    }
    must(std::has_single_bit(table->ring_bytes) && table->key != 0, "it is a job");
    const auto again = parse_table(write(*table));
    must(again && write(*again) == write(*table), "a table is written as it was read");
    return 0;
}

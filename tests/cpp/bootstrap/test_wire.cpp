// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <vector>

#include "bootstrap/local/wire.hpp"

using namespace stretto;
using namespace stretto::bootstrap;

TEST_CASE("the record of a rank of a job on one host is read as it was written") {
    RankRecord record;
    record.rank = 3;
    record.size = 7;
    record.cores.add(5);
    record.cores.add(8191);
    const auto bytes = write(record);
    const auto read = parse_rank_record(bytes);
    REQUIRE(read);
    CHECK(read->rank == 3);
    CHECK(read->size == 7);
    CHECK(read->cores == record.cores);
    CHECK(read->launch == 0);
    CHECK(read->endpoints.empty());
    CHECK(read->lacks.empty());

    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(parse_rank_record(std::span(bytes).first(size)));
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(parse_rank_record(longer));
    auto stranger = bytes;
    stranger[0] ^= std::byte{1};
    CHECK_FALSE(parse_rank_record(stranger));
    CHECK_FALSE(parse_answer(bytes));
}

TEST_CASE("an answer is read as it was written, or cut") {
    const auto read = parse_answer(write(Status::timeout, "rank 3 has not come"));
    REQUIRE(read);
    CHECK(read->status == Status::timeout);
    CHECK(read->message == "rank 3 has not come");
    const std::string longer(2 * kMostMessageBytes, 'x');
    CHECK(parse_answer(write(Status::ok, longer))->message ==
          longer.substr(0, kMostMessageBytes - 1));

    auto bytes = write(kLastStatus, "");
    CHECK(parse_answer(bytes));
    bytes[4] = std::byte{static_cast<unsigned char>(kLastStatus) + 1};
    CHECK_FALSE(parse_answer(bytes)); // a status of another version
    // A message that does not end is read to its end.
    bytes = write(Status::ok, "");
    for (std::size_t i = 8; i < bytes.size(); ++i)
        bytes[i] = std::byte{'y'};
    CHECK(parse_answer(bytes)->message.size() == kMostMessageBytes);
}

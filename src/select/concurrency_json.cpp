// SPDX-License-Identifier: BSD-3-Clause
#include "select/concurrency_json.hpp"

#include "schedule/json_value.hpp"
#include "select/profile_json.hpp"

namespace stretto::select {

namespace {

using Json = nlohmann::ordered_json; // keys in the order of the page
using schedule::Value;

constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 50;
constexpr std::int32_t kMostPairs = 65536;
constexpr std::int64_t kMostEntries = 64; // numbers of pairs, and rows

std::string written(const char *name, const cost::Concurrency &measured) {
    std::string text = "\n    \"" + std::string(name) + "\": {\n      \"how\": " +
                       Json(measured.how).dump(-1, ' ', false, Json::error_handler_t::replace) +
                       ",\n      \"pairs\": " + Json(measured.pairs).dump() +
                       ",\n      \"rows\": [";
    for (const cost::Concurrency::Row &row : measured.rows) {
        const Json line = {
            {"bytes", row.bytes}, {"throughput", row.throughput}, {"relative", row.relative}};
        text.append(&row == measured.rows.data() ? "\n        " : ",\n        ")
            .append(line.dump());
    }
    return text + "\n      ]\n    }";
}

cost::Concurrency::Row row_of(const Value &value, std::size_t pairs) {
    value.object({"bytes", "throughput", "relative"});
    cost::Concurrency::Row row;
    const std::uint64_t bytes = value["bytes"].natural();
    if (bytes < 1 || bytes > kMostMessageBytes)
        value["bytes"].fail("expected a number from 1 to 2^50");
    row.bytes = static_cast<std::size_t>(bytes);
    row.throughput = value["throughput"].number(kThroughputs.least, kThroughputs.most);
    const Value relative = value["relative"];
    if (relative.array(kMostEntries) != pairs)
        relative.fail("expected a number for each of \"pairs\"");
    for (std::size_t i = 0; i < pairs; ++i)
        row.relative.push_back(relative[i].number(kRelatives.least, kRelatives.most));
    if (row.relative[0] != 1)
        relative[std::size_t{0}].fail("one pair moves as much as one pair: expected 1");
    return row;
}

cost::Concurrency of_place(const Value &value) {
    value.object({"pairs", "rows"}, {"how"});
    cost::Concurrency read;
    const Value pairs = value["pairs"], rows = value["rows"];
    if (pairs.array(kMostEntries) == 0 || pairs[std::size_t{0}].integer(1, kMostPairs) != 1)
        pairs.fail("expected numbers of pairs, of which 1 is the first");
    read.pairs = pairs.integers(1, kMostPairs);
    for (std::size_t i = 1; i < read.pairs.size(); ++i)
        if (read.pairs[i] <= read.pairs[i - 1])
            pairs[i].fail("expected more pairs than before");
    const std::size_t length = rows.array(kMostEntries);
    if (length == 0)
        rows.fail("expected at least one row");
    for (std::size_t i = 0; i < length; ++i) {
        read.rows.push_back(row_of(rows[i], read.pairs.size()));
        if (i > 0 && read.rows[i].bytes <= read.rows[i - 1].bytes)
            rows[i]["bytes"].fail("expected more bytes than in the row before");
    }
    if (value.has("how"))
        read.how = profile_text(value["how"]);
    return read;
}

} // namespace

std::string concurrency_to_json(const Concurrency &concurrency) {
    std::string text;
    if (concurrency.inside.measured())
        text += written("inside", concurrency.inside);
    if (concurrency.between.measured())
        text.append(text.empty() ? "" : ",").append(written("between", concurrency.between));
    return "{" + text + "\n  }";
}

Concurrency concurrency_from_json(const Value &value) {
    value.object({}, {"inside", "between"});
    Concurrency read;
    if (value.has("inside"))
        read.inside = of_place(value["inside"]);
    if (value.has("between"))
        read.between = of_place(value["between"]);
    return read;
}

} // namespace stretto::select

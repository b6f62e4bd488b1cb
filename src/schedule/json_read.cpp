// SPDX-License-Identifier: BSD-3-Clause
// The format is docs/schedule-json.md.  The text may come from any source: no memory is allocated
// in proportion to a number in it before that number is checked, and unknown parts are refused.
#include "schedule/json.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "schedule/check.hpp"
#include "schedule/json_value.hpp"

namespace stretto::schedule {

namespace {

constexpr std::int64_t kMostRanks = 4096;
constexpr std::int64_t kMostBlocks = 1'000'000;
constexpr std::int64_t kMostCells = 10'000'000; // ranks x blocks
constexpr std::int64_t kMostOps = 10'000'000;
constexpr std::int64_t kMostTokenValues = 4096; // of a token
// A schedule names each block that it moves, so a short text describes few cells.  A short text
// with many cells would cost the proof hours, so it is refused.  The densest text known, a gather
// of 1,024 ranks, has 9 cells per byte.
constexpr std::int64_t kAnyTextCells = 65'536;
constexpr std::int64_t kCellsPerByte = 32;
constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

Partition read_partition(const Value &levels) {
    Partition partition;
    for (std::size_t i = 0; i < levels.array(64); ++i) {
        const Value level = levels[i];
        level.object({}, {"even", "equal", "weights"});
        Partition inner;
        if (level.has("even") + level.has("equal") + level.has("weights") != 1)
            level.fail("expected exactly one of \"even\", \"equal\" and \"weights\"");
        if (level.has("even")) {
            inner = Partition::even(level["even"].integer(1, kMostBlocks));
        } else if (level.has("equal")) {
            inner = Partition::equal(level["equal"].integer(1, kMostBlocks));
        } else {
            const Value list = level["weights"];
            std::vector<std::uint64_t> weights(list.array(kMostBlocks));
            for (std::size_t w = 0; w < weights.size(); ++w)
                weights[w] = list[w].natural();
            inner = Partition::weighted(std::move(weights));
        }
        partition = i == 0 ? inner : partition.refine(inner);
        if (partition.blocks() > kMostBlocks)
            level.fail("more than " + std::to_string(kMostBlocks) + " blocks");
    }
    return partition;
}

Contract read_contract(const Value &json, Position ranks, Block blocks) {
    json.object({"collective"}, {"root", "start", "end"});
    const auto collective = collective_named(json["collective"].string());
    if (!collective)
        json["collective"].fail("unknown collective \"" + json["collective"].string() + "\"");
    if (*collective != Collective::custom) {
        json.object({"collective"}, {"root"});
        return {*collective, ranks, blocks,
                json.has("root") ? json["root"].integer(0, ranks - 1) : 0};
    }
    json.object({"collective", "start", "end"});
    std::vector<std::optional<Atom>> start;
    std::vector<std::optional<Goal>> end;
    const auto each_entry = [&](const Value &table, auto &&read) {
        if (table.array(ranks) != static_cast<std::size_t>(ranks))
            table.fail("expected " + std::to_string(ranks) + " rows");
        for (std::size_t p = 0; p < static_cast<std::size_t>(ranks); ++p) {
            const Value row = table[p];
            if (row.array(blocks) != static_cast<std::size_t>(blocks))
                row.fail("expected " + std::to_string(blocks) + " entries");
            for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b)
                read(row[b]);
        }
    };
    each_entry(json["start"], [&](const Value &entry) {
        if (entry.null())
            return start.push_back(std::nullopt);
        entry.object({"from", "block"});
        start.push_back(
            Atom{entry["from"].integer(0, ranks - 1), entry["block"].integer(0, blocks - 1)});
    });
    each_entry(json["end"], [&](const Value &entry) {
        if (entry.null())
            return end.push_back(std::nullopt);
        entry.object({"block"}, {"from"});
        Goal goal{entry["block"].integer(0, blocks - 1), std::nullopt};
        if (entry.has("from"))
            goal.from = entry["from"].integer(0, ranks - 1);
        end.push_back(goal);
    });
    return Contract::custom(ranks, blocks, std::move(start), std::move(end));
}

Token read_token(const Value &json, Position ranks) {
    json.object({"values"}, {"arbiter", "issued_after"});
    Token token;
    token.values = json["values"].integer(1, kMostTokenValues);
    if (json.has("arbiter"))
        token.arbiter = json["arbiter"].integer(-1, ranks - 1);
    if (json.has("issued_after"))
        token.issued_after = json["issued_after"].integer(0, kMostOps);
    return token;
}

// Reads ops.  check_program checks that their fields fit their kind, and their indices the
// schedule.
class OpReader {
public:
    explicit OpReader(const Schedule &schedule) : schedule_(schedule) {}

    std::vector<Op> list(const Value &json) {
        std::vector<Op> ops(json.array(kMostOps));
        left_ -= static_cast<std::int64_t>(ops.size());
        if (left_ < 0)
            json.fail("more than " + std::to_string(kMostOps) + " ops in all");
        for (std::size_t i = 0; i < ops.size(); ++i)
            ops[i] = one(json[i]);
        return ops;
    }

private:
    Op one(const Value &json) const {
        if (!json.has("op"))
            json.fail("expected an object with \"op\"");
        const std::string kind = json["op"].string();
        Op op;
        if (kind == "send") {
            json.object({"op", "peer", "blocks", "from"}, {"lane", "after"});
            op = send(peer(json), blocks(json["blocks"]), slot(json["from"]));
        } else if (kind == "recv") {
            json.object({"op", "peer", "blocks", "into"},
                        {"with", "side", "group", "lane", "after"});
            op = recv(peer(json), blocks(json["blocks"]), slot(json["into"]));
            if (json.has("with"))
                op.from = slot(json["with"]);
            if (json.has("side"))
                op.side = side(json["side"]);
            if (json.has("group"))
                op.group = json["group"].integer(1, kMostInt32);
        } else if (kind == "reduce") {
            json.object({"op", "sources", "blocks", "into"}, {"after"});
            op = reduce(json["sources"].integers(0, kMostInt32), blocks(json["blocks"]),
                        slot(json["into"]));
        } else if (kind == "copy") {
            json.object({"op", "blocks", "from", "into"}, {"targets", "after"});
            op = copy(blocks(json["blocks"]), slot(json["from"]), slot(json["into"]));
            if (json.has("targets"))
                op.targets = blocks(json["targets"]);
        } else {
            json["op"].fail("unknown op \"" + kind + "\"");
        }
        if (json.has("lane"))
            op.lane = json["lane"].integer(0, kMostInt32);
        if (json.has("after"))
            op.after = json["after"].integers(0, kMostOps);
        return op;
    }

    Position peer(const Value &json) const { return json["peer"].integer(0, schedule_.ranks - 1); }
    static Slot slot(const Value &json) { return json.integer(0, kMostInt32); }
    std::vector<Block> blocks(const Value &json) const {
        return json.integers(0, schedule_.blocks() - 1);
    }
    static Side side(const Value &json) {
        const std::string name = json.string();
        if (name != "left" && name != "right")
            json.fail("expected \"left\" or \"right\"");
        return name == "left" ? Side::left : Side::right;
    }

    const Schedule &schedule_;
    std::int64_t left_ = kMostOps;
};

Window read_window(const Value &json) {
    json.object({}, {"recv", "send"});
    Window open;
    if (json.has("recv"))
        open.recv = json["recv"].integer(0, kMostInt32);
    if (json.has("send"))
        open.send = json["send"].integer(0, kMostInt32);
    return open;
}

Symmetry read_symmetry(const Value &json, Position ranks) {
    const std::vector<Position> orders = json.integers(2, kMostRanks);
    std::int64_t product = 1;
    for (const Position order : orders)
        product = std::min<std::int64_t>(product * order, kMostRanks + 1);
    if (product != ranks)
        json.fail("the product of the orders is not " + std::to_string(ranks) +
                  ", the number of ranks");
    return Symmetry(orders);
}

// A number for each position.
std::vector<std::int32_t> read_places(const Value &json, Position ranks) {
    std::vector<std::int32_t> places = json.integers(0, kMostInt32);
    if (places.size() != static_cast<std::size_t>(ranks))
        json.fail("expected " + std::to_string(ranks) + " numbers, one for each position");
    return places;
}

Topology read_topology(const Value &root, Position ranks) {
    if (!root.has("hosts"))
        root["caches"].fail("caches without hosts; write \"hosts\" as well");
    const std::vector<std::int32_t> host_of = read_places(root["hosts"], ranks);
    std::vector<std::int32_t> cache_of;
    if (root.has("caches"))
        cache_of = read_places(root["caches"], ranks);
    return Topology(host_of, cache_of);
}

std::vector<Program> read_programs(const Value &json, const Schedule &schedule) {
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    if (json.array(schedule.ranks) != ranks)
        json.fail("expected " + std::to_string(ranks) + " programs, one for each position");
    OpReader ops(schedule);
    std::vector<Program> programs(ranks);
    for (std::size_t p = 0; p < ranks; ++p) {
        const Value entry = json[p];
        entry.object({"ops"}, {"open", "suffixes"});
        if (entry.has("open"))
            programs[p].open = read_window(entry["open"]);
        programs[p].ops = ops.list(entry["ops"]);
        if (!entry.has("suffixes"))
            continue;
        const Value suffixes = entry["suffixes"];
        for (std::size_t v = 0; v < suffixes.array(kMostTokenValues); ++v)
            programs[p].suffixes.push_back(ops.list(suffixes[v]));
    }
    return programs;
}

} // namespace

Schedule from_json(std::string_view text) {
    const Document document(text);
    const Value root = document.root();
    root.object({"format", "version", "name", "ranks", "partition", "contract", "programs"},
                {"token", "symmetry", "hosts", "caches"});
    if (root["format"].string() != "stretto-schedule")
        root["format"].fail("expected \"stretto-schedule\"");
    root["version"].integer(1, 1);

    Schedule schedule;
    schedule.name = root["name"].string();
    schedule.ranks = root["ranks"].integer(1, kMostRanks);
    schedule.partition = read_partition(root["partition"]);
    const std::int64_t cells = std::int64_t{schedule.ranks} * schedule.blocks();
    const std::int64_t most_cells = std::min(
        kMostCells, kAnyTextCells + kCellsPerByte * static_cast<std::int64_t>(text.size()));
    if (cells > most_cells)
        root.fail(std::to_string(schedule.ranks) + " ranks x " + std::to_string(schedule.blocks()) +
                  " blocks; at most " + std::to_string(most_cells) +
                  " are allowed in a text of this length");
    schedule.contract = read_contract(root["contract"], schedule.ranks, schedule.blocks());
    if (root.has("token")) {
        schedule.token = read_token(root["token"], schedule.ranks);
        // Each value of the token is proved separately.
        if (cells > most_cells / schedule.token->values)
            root["token"].fail(std::to_string(schedule.token->values) + " values x " +
                               std::to_string(cells) + " ranks x blocks; at most " +
                               std::to_string(most_cells) +
                               " are allowed in a text of this length");
    }
    if (root.has("symmetry"))
        schedule.symmetry = read_symmetry(root["symmetry"], schedule.ranks);
    if (root.has("hosts") || root.has("caches"))
        schedule.topology = read_topology(root, schedule.ranks);

    const auto programs =
        std::make_shared<const std::vector<Program>>(read_programs(root["programs"], schedule));
    schedule.program = [programs](Position position) {
        return programs->at(static_cast<std::size_t>(position));
    };
    check_frame(schedule);
    for (Position p = 0; p < schedule.ranks; ++p)
        check_program(schedule, p, (*programs)[static_cast<std::size_t>(p)]);
    // A user who edits the programs of a file need not change this line.
    if (!is_symmetric(schedule))
        schedule.symmetry.reset();
    return schedule;
}

} // namespace stretto::schedule

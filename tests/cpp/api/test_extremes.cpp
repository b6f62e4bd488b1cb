// SPDX-License-Identifier: BSD-3-Clause
// Every setting at its ends: a job that starts works, and one that does not says which setting it
// is.  No value that a setting takes is an internal error.
#include "doctest.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "support/environment.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using stretto::SettingInfo;
using stretto::SettingKind;
using test::check;
using test::contains;
using test::With;

namespace {

// What is said on a rank.
struct Outcome {
    stretto_status init = STRETTO_OK, call = STRETTO_OK;
    std::string init_message, call_message;
};

// A call of each kind, with small and long vectors and with the largest records.
stretto_status calls(stretto_comm comm) {
    const int rank = stretto_rank(comm);
    const auto size = static_cast<std::size_t>(stretto_size(comm));
    constexpr std::size_t kRecord = 4096;
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{5'000}}) {
        std::vector<std::int32_t> values(count, rank), sums(count);
        if (const auto status = stretto_allreduce(comm, values.data(), sums.data(), count,
                                                  STRETTO_INT32, STRETTO_SUM))
            return status;
        const auto right = static_cast<std::int32_t>(size * (size - 1) / 2);
        if (sums != std::vector<std::int32_t>(count, right))
            return STRETTO_ERR_INTERNAL;
    }
    const std::size_t count = 3;
    std::vector<char> one(count * kRecord, static_cast<char>('a' + rank)),
        all(count * kRecord * size);
    const stretto_dtype record = STRETTO_RECORD(kRecord);
    stretto_status status = stretto_gather(comm, one.data(), all.data(), count, record, 0);
    if (status == STRETTO_OK)
        status = stretto_allgather(comm, one.data(), all.data(), count, record);
    for (std::size_t i = 0; status == STRETTO_OK && i < all.size(); ++i)
        if (all[i] != static_cast<char>('a' + static_cast<int>(i / (count * kRecord))))
            return STRETTO_ERR_INTERNAL;
    std::vector<char> other(all.size());
    if (status == STRETTO_OK)
        status = stretto_alltoall(comm, all.data(), other.data(), count, record);
    if (status == STRETTO_OK)
        status = stretto_scatter(comm, all.data(), one.data(), count, record, 0);
    if (status == STRETTO_OK)
        status = stretto_broadcast(comm, one.data(), count, record, 0);
    return status == STRETTO_OK ? stretto_barrier(comm) : status;
}

std::vector<Outcome> job(int ranks) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
    const std::string name = test::fresh_job();
    test::on_threads(ranks, [&](int rank) {
        Outcome &outcome = outcomes[static_cast<std::size_t>(rank)];
        stretto_comm comm = nullptr;
        outcome.init = stretto_init_explicit(rank, ranks, name.c_str(), &comm);
        if (outcome.init != STRETTO_OK) {
            outcome.init_message = stretto_last_error();
            return;
        }
        outcome.call = calls(comm);
        if (outcome.call != STRETTO_OK)
            outcome.call_message = stretto_last_error();
        stretto_finalize(&comm);
    });
    return outcomes;
}

std::string text(const SettingInfo &info, std::uint64_t value) {
    return std::to_string(value) + (info.kind == SettingKind::duration ? "ns" : "");
}

std::vector<std::string> ends(const SettingInfo &info) {
    std::vector<std::string> values;
    switch (info.kind) {
    case SettingKind::bytes:
    case SettingKind::duration:
    case SettingKind::count:
        values = {text(info, info.least), text(info, info.least + 1), text(info, info.most)};
        break;
    case SettingKind::boolean: values = {"0", "1"}; break;
    case SettingKind::choice:
        for (std::string_view words = info.words; !words.empty();) {
            const std::size_t space = std::min(words.find(' '), words.size());
            values.emplace_back(words.substr(0, space));
            words.remove_prefix(std::min(words.size(), space + 1));
        }
        break;
    case SettingKind::text: break;
    }
    return values;
}

} // namespace

TEST_CASE("no end of a setting is an internal error") {
    const With patience("STRETTO_INIT_TIMEOUT", "20");
    for (const SettingInfo &info : stretto::kSettings) {
        const std::string variable(info.variable);
        if (info.group == stretto::SettingGroup::launcher)
            continue;
        CAPTURE(variable);
        for (const std::string &value : ends(info)) {
            CAPTURE(value);
            const bool limit = variable.ends_with("TIMEOUT");
            const With set(variable.c_str(), value.c_str());
            for (const Outcome &outcome : job(3)) {
                CAPTURE(outcome.init_message);
                CAPTURE(outcome.call_message);
                CHECK(outcome.init != STRETTO_ERR_INTERNAL);
                CHECK(outcome.call != STRETTO_ERR_INTERNAL);
                // One that is turned away says why; others may have heard of nobody.
                if (outcome.init == STRETTO_ERR_ARGUMENT)
                    CHECK(contains(outcome.init_message, variable));
                if (!limit) // a time may be too short for anything
                    CHECK(outcome.call == STRETTO_OK);
            }
        }
        if (variable == "STRETTO_INIT_TIMEOUT")
            setenv("STRETTO_INIT_TIMEOUT", "20", 1);
    }
}

TEST_CASE("a value out of a setting's range is refused with its name") {
    for (const SettingInfo &info : stretto::kSettings) {
        if (info.group == stretto::SettingGroup::launcher ||
            (info.kind != SettingKind::bytes && info.kind != SettingKind::duration &&
             info.kind != SettingKind::count))
            continue;
        const std::string variable(info.variable);
        std::vector<std::string> values = {"-1"};
        if (info.least > 0)
            values.push_back(text(info, info.least - 1));
        if (info.most < UINT64_MAX / 2)
            values.push_back(text(info, info.most + info.most / 1000 + 1));
        for (const std::string &value : values) {
            CAPTURE(variable);
            CAPTURE(value);
            const With set(variable.c_str(), value.c_str());
            stretto_comm comm = nullptr;
            CHECK(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) ==
                  STRETTO_ERR_ARGUMENT);
            CHECK(contains(stretto_last_error(), variable + " is "));
        }
    }
}

// A cell of 4160 bytes is more than half a ring of 8 KiB.
TEST_CASE("the largest records go through the smallest rings") {
    const With ring("STRETTO_RING_BYTES", "8K");
    for (int ranks = 2; ranks <= 8; ++ranks)
        for (const Outcome &outcome : job(ranks)) {
            CAPTURE(ranks);
            CAPTURE(outcome.init_message);
            CAPTURE(outcome.call_message);
            CHECK(outcome.init == STRETTO_OK);
            CHECK(outcome.call == STRETTO_OK);
        }
    const With smaller("STRETTO_RING_BYTES", "4K");
    for (const Outcome &outcome : job(1)) {
        CHECK(outcome.init == STRETTO_ERR_ARGUMENT);
        CHECK(contains(outcome.init_message, "from 8K to"));
    }
}

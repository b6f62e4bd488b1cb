// SPDX-License-Identifier: BSD-3-Clause
// Schedules as JSON: any text is refused as a wrong argument, or is a schedule that can be proved
// or disproved, written, and read again as the same.
#include <random>
#include <string>

#include "base/status.hpp"
#include "fuzz.hpp"
#include "schedule/accounting.hpp"
#include "schedule/json.hpp"
#include "schedule/verify.hpp"
#include "simulate/simulate.hpp"

using namespace stretto;
using fuzz::must;

namespace {

// What has been proved can be counted and simulated for any count.
void use(const schedule::Schedule &schedule) {
    const std::size_t count = schedule.partition.quantum() * 3;
    const schedule::Accounting costs = schedule::account(schedule, count, 4);
    must(costs.total.sends == costs.total.recvs, "as many sends as receives");
    must(costs.total.bytes_sent == costs.total.bytes_received, "what is sent is received");
    simulate::Problem problem;
    problem.count = count;
    problem.element = 4;
    problem.arrivals.assign(static_cast<std::size_t>(schedule.ranks), 0);
    problem.network = {1e-6, 1e-9, 1e-10};
    const simulate::Timeline timeline = simulate::simulate(schedule, problem);
    must(timeline.makespan >= 0, "time goes forward");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    schedule::Schedule schedule;
    try {
        schedule = schedule::from_json(fuzz::text_of(data, size));
    } catch (const Error &error) {
        must(error.status() == Status::argument, "a text is refused as a wrong argument");
        return 0;
    }
    const schedule::Verdict verdict = schedule::verify(schedule);
    must(verdict.ok == verdict.failure.empty(), "what fails says why");
    const std::string written = schedule::to_json(schedule);
    const schedule::Schedule again = schedule::from_json(written);
    must(schedule::to_json(again) == written, "what is written is read as the same");
    const schedule::Verdict second = schedule::verify(again);
    must(second.ok == verdict.ok && second.failure == verdict.failure &&
             second.tree == verdict.tree,
         "the same schedule has the same proof");
    if (verdict.ok && !schedule.token)
        use(schedule);
    return 0;
}

#ifdef STRETTO_FUZZ
// Half of the mutations change the document instead of its bytes: what is no JSON is refused by the
// parser, and it is the rest that needs trying.
#include <nlohmann/json.hpp>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::json;

void collect(Json &json, std::vector<Json *> &all) {
    all.push_back(&json);
    if (json.is_structured())
        for (Json &item : json)
            collect(item, all);
}

void change(Json &document, std::minstd_rand &random) {
    std::vector<Json *> all;
    collect(document, all);
    const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    Json &here = *all[any(all.size())];
    const Json other = *all[any(all.size())];
    if (here.is_number()) {
        const std::int64_t next[] = {0, 1, 2, 3, -1, 64, 1'000'000, INT32_MAX, INT64_MAX};
        const std::int64_t now = here.is_number_integer() ? here.get<std::int64_t>() % 1000 : 0;
        here = any(3) != 0 ? now + static_cast<std::int64_t>(any(3)) - 1 : next[any(9)];
    } else if (here.is_array() && !here.empty() && any(4) != 0) {
        const std::size_t place = any(here.size()), from = any(here.size());
        switch (any(4)) {
        case 0: here.erase(place); break;
        case 1:
            here.insert(here.begin() + static_cast<std::ptrdiff_t>(place), Json(here[from]));
            break;
        case 2: std::swap(here[place], here[from]); break;
        default: here[place] = other;
        }
    } else if (here.is_object() && !here.empty() && any(4) != 0) {
        auto entry = here.begin();
        std::advance(entry, static_cast<std::ptrdiff_t>(any(here.size())));
        if (any(4) == 0) {
            here.erase(entry);
        } else if (any(2) == 0) {
            static const char *const keys[] = {"after", "lane", "group",    "side",   "with",
                                               "token", "open", "suffixes", "targets"};
            here[keys[any(9)]] = other;
        } else {
            entry.value() = other;
        }
    } else {
        here = other;
    }
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    std::minstd_rand random(seed);
    Json document = random() % 2 == 0 ? Json::parse(data, data + size, nullptr, false)
                                      : Json(Json::value_t::discarded);
    if (document.is_discarded())
        return LLVMFuzzerMutate(data, size, most);
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
        change(document, random);
    const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > most)
        return LLVMFuzzerMutate(data, size, most);
    std::copy(text.begin(), text.end(), data);
    return text.size();
}
#endif

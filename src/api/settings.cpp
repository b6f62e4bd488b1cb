// SPDX-License-Identifier: BSD-3-Clause
// The C API: settings in force.
#include <algorithm>
#include <map>
#include <unistd.h>

#include "base/lazy.hpp"
#include "base/settings.hpp"
#include "handles.hpp"

using stretto::Setting;
using stretto::SettingGroup;
using stretto::SettingInfo;
using stretto::SettingSource;
using stretto::SettingState;
using stretto::UnknownSetting;
using namespace stretto::api;

static_assert(static_cast<int>(SettingSource::environment) == STRETTO_SOURCE_ENVIRONMENT);
static_assert(static_cast<int>(SettingSource::program) == STRETTO_SOURCE_PROGRAM);
static_assert(static_cast<int>(SettingSource::launcher) == STRETTO_SOURCE_LAUNCHER);
static_assert(static_cast<int>(SettingSource::rank_0) == STRETTO_SOURCE_RANK_0);

namespace {

SettingState &state(std::vector<SettingState> &states, Setting setting) {
    return states[static_cast<std::size_t>(setting)];
}

// The launcher that gave this process its rank.  `stretto run` sets Stretto's own variables, which
// are read already.
SettingSource set_by(const std::string &launcher) {
    if (launcher == "none")
        return SettingSource::fallback;
    return launcher.starts_with("stretto_") ? SettingSource::program : SettingSource::launcher;
}

void identify(std::vector<SettingState> &states, const stretto::bootstrap::Identity &me) {
    if (me.launcher == "stretto run")
        return;
    const auto set = [&](Setting setting, const std::string &value, std::uint64_t number) {
        state(states, setting) = {&stretto::info(setting), value, set_by(me.launcher), number};
    };
    set(Setting::rank, std::to_string(me.rank), static_cast<std::uint64_t>(me.rank));
    set(Setting::size, std::to_string(me.size), static_cast<std::uint64_t>(me.size));
    set(Setting::job, me.job, 0);
}

// Rank 0's environment holds for the job; for a child, also that of its parent communicator.
void shape(SettingState &state, std::uint64_t actual, int rank) {
    if (rank == 0 && state.number == actual)
        return;
    if (rank != 0)
        state.source = SettingSource::rank_0;
    else if (state.source == SettingSource::environment)
        state.source = SettingSource::program;
    state.value = actual == 0 ? "" : stretto::written_bytes(actual);
    state.number = actual;
    state.error.clear(); // this rank's own value, which is not used
}

// The words for types and ranges never change.
constinit stretto::Lazy<std::map<Setting, std::string>> words;

const char *words_for(const SettingInfo &info) {
    return words
        .get([] {
            std::map<Setting, std::string> all;
            for (const SettingInfo &each : stretto::settings())
                all[each.setting] = takes(each);
            return all;
        })
        .at(info.setting)
        .c_str();
}

stretto_setting line(const SettingState &state) {
    const SettingInfo &info = *state.info; // whose texts are literals, which end with a zero
    return {info.variable.data(),
            name(info.kind).data(),
            words_for(info),
            state.value.c_str(),
            info.fallback.data(),
            info.meaning.data(),
            state.error.empty() ? nullptr : state.error.c_str(),
            state.error.empty() ? state.number : 0,
            static_cast<stretto_source>(state.source),
            info.group == SettingGroup::launcher};
}

stretto_setting line(const UnknownSetting &unknown) {
    return {unknown.variable.c_str(),
            "unknown",
            "",
            unknown.value.c_str(),
            "",
            "",
            unknown.sentence.c_str(),
            0,
            STRETTO_SOURCE_ENVIRONMENT,
            0};
}

} // namespace

namespace stretto::api {

std::vector<SettingState> settings_of(std::vector<SettingState> read, const bootstrap::Identity &me,
                                      const comm::Communicator &communicator) {
    identify(read, me);
    const transport::SegmentHeader &header = communicator.segment()->header();
    shape(state(read, Setting::ring_bytes), header.ring_bytes, me.rank);
    shape(state(read, Setting::slice_bytes), header.slice_bytes, me.rank);
    shape(state(read, Setting::heap_bytes), header.heap_bytes, me.rank);
    return read;
}

void note(stretto_comm comm, Setting setting, std::string_view value) {
    state(comm->settings, setting) = {&info(setting), std::string(value), SettingSource::program};
}

void inherit_note(stretto_comm child, const stretto_comm_s &parent, Setting setting) {
    state(child->settings, setting) = parent.settings[static_cast<std::size_t>(setting)];
}

} // namespace stretto::api

extern "C" {

stretto_status stretto_settings(stretto_comm comm, stretto_setting *lines, size_t capacity,
                                size_t *count) {
    return guarded_in(comm, [&] {
        require(count != nullptr, "the count is NULL");
        require(capacity == 0 || lines != nullptr, "the lines are NULL");
        static thread_local std::vector<SettingState> now;
        static thread_local std::vector<UnknownSetting> unknown;
        if (comm == nullptr) {
            now = stretto::settings_in_force();
            unknown = stretto::unknown_settings(environ);
        }
        const std::vector<SettingState> &states = comm == nullptr ? now : comm->settings;
        std::vector<stretto_setting> all;
        for (const SettingState &each : states)
            all.push_back(line(each));
        if (comm == nullptr)
            for (const UnknownSetting &each : unknown)
                all.push_back(line(each));
        *count = all.size();
        std::copy_n(all.begin(), std::min(capacity, all.size()), lines);
    });
}

} // extern "C"

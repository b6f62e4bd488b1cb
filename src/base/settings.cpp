// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/settings_table.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto {

namespace {

constexpr bool in_order() {
    for (std::size_t i = 0; i < kSettings.size(); ++i)
        if (kSettings[i].setting != static_cast<Setting>(i))
            return false;
    return true;
}
static_assert(in_order(), "the table lists the settings in the order of the enumeration");

// Null if the variable is not set or empty.
const char *set_to(const SettingInfo &entry, const Environment &environment) {
    const char *value = environment(entry.variable.data()); // literals end with a zero
    return value != nullptr && *value != '\0' ? value : nullptr;
}

// Whether the value of an unknown variable may be a secret, which is not shown: STRETTO_SECRT,
// STRETTO_SECRET_KEY.
bool may_be_secret(std::string_view variable, std::string_view nearest) {
    return std::any_of(kSettings.begin(), kSettings.end(), [&](const SettingInfo &entry) {
        return entry.secret &&
               (entry.variable == nearest || variable.find(entry.variable) != variable.npos);
    });
}

// "" if it is not set and has no default.
std::string written(const SettingInfo &entry, const Environment &environment) {
    const char *value = set_to(entry, environment);
    return value != nullptr ? value : std::string(entry.fallback);
}

SettingState state_of(const SettingInfo &entry, const Environment &environment) {
    const bool set = set_to(entry, environment) != nullptr;
    const std::string value = written(entry, environment);
    SettingState state{&entry, entry.secret && set ? std::string(kSet) : value,
                       set ? SettingSource::environment : SettingSource::fallback};
    try {
        state.number = value.empty() ? 0 : parse(entry, value).number;
    } catch (const Error &error) {
        state.error = error.what();
    }
    return state;
}

} // namespace

std::string_view name(SettingSource source) {
    constexpr std::string_view names[] = {"default", "environment", "program", "launcher",
                                          "rank 0"};
    return names[static_cast<std::size_t>(source)];
}

std::span<const SettingInfo> settings() {
    return kSettings;
}

const SettingInfo &info(Setting setting) {
    return kSettings[static_cast<std::size_t>(setting)];
}

const char *from_process(const char *name) {
    return std::getenv(name);
}

std::vector<SettingState> settings_in_force(const Environment &environment) {
    std::vector<SettingState> states;
    states.reserve(kSettings.size());
    for (const SettingInfo &entry : kSettings)
        states.push_back(state_of(entry, environment));
    return states;
}

std::vector<UnknownSetting> unknown_settings(const char *const *environment) {
    constexpr std::string_view prefix = "STRETTO_";
    constexpr std::string_view of_tests = "STRETTO_TEST_"; // of our own, not of the library
    std::vector<std::string_view> names;
    for (const SettingInfo &entry : kSettings)
        names.push_back(entry.variable);
    std::vector<UnknownSetting> unknown;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        const std::string_view variable = entry.substr(0, entry.find('='));
        const std::string_view value = entry.substr(std::min(entry.size(), variable.size() + 1));
        const bool ours = std::find(names.begin(), names.end(), variable) != names.end();
        if (!variable.starts_with(prefix) || variable.starts_with(of_tests) || ours)
            continue;
        const std::string_view nearest = nearest_word(variable, names);
        unknown.push_back({std::string(variable),
                           std::string(may_be_secret(variable, nearest) ? kSet : value),
                           "there is no setting " + shown(variable) + "; did you mean " +
                               std::string(nearest) + "?"});
    }
    return unknown;
}

} // namespace stretto

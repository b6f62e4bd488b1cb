// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <map>
#include <set>
#include <string>

#include "base/kernel_files.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"

using namespace stretto;

namespace {

Environment with(const std::map<std::string, std::string> &variables) {
    return [variables](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

// The number that a value is read as, or -1 if it is refused.
double read(Setting setting, const std::string &value) {
    try {
        return static_cast<double>(parse(info(setting), value).number);
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        CHECK(std::string(error.what()).find(info(setting).variable) != std::string::npos);
        return -1;
    }
}

} // namespace

TEST_CASE("the table is whole") {
    std::set<std::string_view> names;
    for (const SettingInfo &entry : settings()) {
        CAPTURE(entry.variable);
        CHECK(entry.variable.starts_with("STRETTO_"));
        CHECK(names.insert(entry.variable).second);
        CHECK_FALSE(entry.meaning.empty());
        CHECK_FALSE(takes(entry).empty());
        CHECK(entry.least <= entry.most);
        if (entry.kind != SettingKind::count) // which may have a word for 0
            CHECK((entry.kind == SettingKind::choice) != entry.words.empty());
        CHECK((entry.kind == SettingKind::duration) != entry.unit.empty());
        if (!entry.fallback.empty())
            CHECK_NOTHROW(parse(entry, entry.fallback));
    }
}

TEST_CASE("sizes") {
    constexpr auto bytes = Setting::ring_bytes;
    CHECK(read(bytes, "65536") == 65536);
    for (const char *same : {"64K", "64k", "64 K", "64KB", "64KiB", "64 kib"})
        CHECK(read(bytes, same) == 65536);
    CHECK(read(bytes, "8192B") == 8192);
    CHECK(read(bytes, "2M") == 2 << 20);
    CHECK(read(bytes, "1G") == 1 << 30);
    CHECK(read(bytes, "2T") == 2.0 * (1ull << 40));
    CHECK(bytes_in("64 KiB") == 65536);
    CHECK_FALSE(bytes_in("64 km").has_value());
    CHECK_FALSE(bytes_in("").has_value());
    CHECK(read(bytes, "8191") == -1); // below the least
    CHECK(read(bytes, "8192") == 8192);
    for (const char *bad : {"K", "64X", "64KK", "0x10", "-4096", "+4096", " 4096", "1e6",
                            "18446744073709551616", "18446744073709551615G", "65T", "1.5M", "iB"})
        CHECK(read(bytes, bad) == -1);
}

TEST_CASE("times") {
    constexpr auto seconds = Setting::timeout, microseconds = Setting::spin;
    CHECK(read(seconds, "600") == 600e9);
    CHECK(read(seconds, "0.5") == 5e8);
    CHECK(read(seconds, "30ms") == 30e6);
    CHECK(read(seconds, "2 min") == 120e9);
    CHECK(read(seconds, "0") == 0);
    CHECK(read(seconds, "1e-20") == 1); // not "for ever"
    CHECK(read(microseconds, "20") == 20e3);
    CHECK(read(microseconds, "20us") == 20e3);
    CHECK(read(microseconds, "1s") == 1e9);
    for (const char *bad : {"", "soon", "-1", "inf", "nan", "1e300", "5 hours", "1 2", "s"})
        CHECK(read(seconds, bad) == -1);
}

TEST_CASE("booleans, words and counts") {
    for (const char *yes : {"1", "on", "yes", "TRUE"})
        CHECK(read(Setting::warn, yes) == 1);
    for (const char *no : {"0", "off", "No", "false"})
        CHECK(read(Setting::warn, no) == 0);
    CHECK(read(Setting::warn, "2") == -1);
    CHECK(read(Setting::warn, "") == -1);
    CHECK(parse(info(Setting::isa), "avx2").text == "avx2");
    CHECK(read(Setting::isa, "AVX2") == -1);
    CHECK(read(Setting::isa, "avx2 avx512") == -1);
    CHECK(read(Setting::stall_warning, "off") == 0);
    CHECK(read(Setting::stall_warning, "12") == 12);
    CHECK(read(Setting::stall_warning, "on") == -1);
    CHECK(read(Setting::size, "off") == -1);
    CHECK(read(Setting::size, "0") == -1);
    CHECK(read(Setting::size, "64") == 64);
    CHECK(read(Setting::rank, "3.0") == -1);
}

TEST_CASE("an error names the accepted values") {
    try {
        parse(info(Setting::isa), "sse\n2");
        FAIL("accepted");
    } catch (const Error &error) {
        const std::string text = error.what();
        CHECK(text.find("STRETTO_ISA is 'sse?2'; it takes baseline, avx2 or avx512") == 0);
    }
}

TEST_CASE("values in force have a source") {
    const auto environment = with({{"STRETTO_TIMEOUT", "5"}, {"STRETTO_SPIN", ""}});
    const auto states = settings_in_force(environment);
    const auto &timeout = states[static_cast<std::size_t>(Setting::timeout)];
    CHECK(timeout.value == "5");
    CHECK(timeout.source == SettingSource::environment);
    CHECK(timeout.number == 5'000'000'000);
    const auto &spin = states[static_cast<std::size_t>(Setting::spin)];
    CHECK(spin.value == "");
    CHECK(spin.source == SettingSource::fallback); // set to nothing is not set
}

TEST_CASE("unknown variables are reported, with the nearest real one") {
    const char *const environment[] = {
        "PATH=/bin",          "STRETTO_TIMEOT=3", "STRETTO_TIMEOUT=3", "STRETTO_TEST_FULL=1",
        "STRETTO_RING_BYTE=", "STRETTOX=1",       "STRETTO_",          nullptr};
    const auto told = unknown_settings(environment);
    REQUIRE(told.size() == 3);
    CHECK(told[0].sentence == "there is no setting STRETTO_TIMEOT; did you mean STRETTO_TIMEOUT?");
    CHECK(told[0].variable == "STRETTO_TIMEOT");
    CHECK(told[0].value == "3");
    CHECK(told[1].value == "");
    CHECK(told[1].sentence.find("mean STRETTO_RING_BYTES?") != std::string::npos);
    CHECK(unknown_settings(nullptr).empty());
}

TEST_CASE("docs/settings.md matches the table") {
    const std::string page = contents(STRETTO_DOCS "/settings.md");
    INFO("write it anew: stretto info --markdown > docs/settings.md");
    CHECK(page == settings_page());
    for (const SettingInfo &entry : settings())
        CHECK(page.find(std::string(entry.variable)) != std::string::npos);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "select/profile_json.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/status.hpp"
#include "schedule/json_value.hpp"
#include "select/concurrency_json.hpp"
#include "select/measured_json.hpp"

namespace stretto::select {

namespace {

using Json = nlohmann::ordered_json; // keys in the order of the page

constexpr std::size_t kMostProfileBytes = 4u << 20; // of a file; one without calls has some hundred
constexpr std::size_t kMostTextBytes = 400;         // bytes of a text in it
// What this version reads.  It writes the first one that has all keys: older versions read that.
constexpr std::int32_t kFormatVersion = 2, kMostFormatVersion = 1'000'000;
constexpr std::int32_t kFirstFormatVersion = 1; // without "concurrency"

Json written(const cost::Link &link, const std::string &how) {
    return {{"latency", link.latency},
            {"overhead", link.overhead},
            {"byte", link.byte},
            {"reduce", link.reduce},
            {"how", how}};
}

void read(const schedule::Value &value, cost::Link &link, std::string &how) {
    value.object({"latency", "overhead", "byte", "reduce"}, {"how"});
    const auto number = [&](const char *key, const Bounds &bounds) {
        return value[key].number(bounds.least, bounds.most);
    };
    link = {number("latency", kLatencies), number("overhead", kOverheads), number("byte", kBytes),
            number("reduce", kReductions)};
    how = value.has("how") ? profile_text(value["how"]) : "";
}

std::string text_of(const std::string &path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "re"),
                                                                &std::fclose);
    const auto refuse = [&](const std::string &why) {
        throw Error(
            Status::argument,
            "the profile " + path + " (STRETTO_TUNING_FILE) cannot be read: " + why +
                "; correct the path, or unset STRETTO_TUNING_FILE and the network is measured");
    };
    if (file == nullptr)
        refuse(std::strerror(errno));
    std::string text(kMostProfileBytes + 1, '\0');
    errno = 0;
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) // a folder, for instance
        refuse(std::strerror(errno));
    if (text.size() > kMostProfileBytes)
        refuse("it is longer than 4 MiB");
    return text;
}

// Puts more keys at the end of a document.
void append(std::string &text, const char *key, const std::string &value) {
    text.replace(text.size() - 2, 2, ",\n  \"" + std::string(key) + "\": " + value + "\n}");
}

} // namespace

std::string profile_text(const schedule::Value &value) {
    std::string text = value.string();
    if (text.size() > kMostTextBytes)
        value.fail("a text of " + std::to_string(text.size()) + " bytes; at most " +
                   std::to_string(kMostTextBytes) + " are allowed");
    return text;
}

std::string to_json(const Profile &profile, std::string_view version) {
    Json json = {{"stretto", version},
                 {"format", profile.concurrency.measured() ? kFormatVersion : kFirstFormatVersion},
                 {"host", profile.host},
                 {"date", profile.date}};
    if (profile.of_links) {
        json["common"] = profile.common;
        json["links"] = {{"inside", written(profile.inside, profile.how_inside)},
                         {"between", written(profile.between, profile.how_between)}};
    }
    // The name of a host may be anything.
    std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
    if (profile.concurrency.measured())
        append(text, "concurrency", concurrency_to_json(profile.concurrency));
    if (!profile.calls.empty() || !profile.of_links)
        append(text, "calls", calls_to_json(profile.calls));
    return text + "\n";
}

Profile profile_from_json(std::string_view text) {
    const schedule::Document document(text, "profile JSON");
    const schedule::Value root = document.root();
    std::string writer; // for people
    if (root.has("stretto"))
        writer = " (written by version " + profile_text(root["stretto"]) + ")";
    // Before keys that only a later format has.
    if (root.has("format") && root["format"].integer(1, kMostFormatVersion) > kFormatVersion)
        root["format"].fail("a later one than " + std::to_string(kFormatVersion) +
                            ", which this version of the library reads" + writer);
    Profile profile;
    profile.of_links = root.has("links") || !(root.has("calls") || root.has("concurrency"));
    if (profile.of_links)
        root.object({"links"},
                    {"stretto", "format", "host", "date", "common", "concurrency", "calls"});
    else
        root.object({}, {"stretto", "format", "host", "date", "concurrency", "calls"});
    profile.host = root.has("host") ? profile_text(root["host"]) : "";
    profile.date = root.has("date") ? profile_text(root["date"]) : "";
    if (root.has("common"))
        profile.common = root["common"].number(kOverheads.least, kOverheads.most);
    if (profile.of_links) {
        const schedule::Value links = root["links"];
        links.object({"inside", "between"});
        read(links["inside"], profile.inside, profile.how_inside);
        read(links["between"], profile.between, profile.how_between);
    }
    if (root.has("concurrency"))
        profile.concurrency = concurrency_from_json(root["concurrency"]);
    if (root.has("calls"))
        profile.calls = calls_from_json(root["calls"]);
    profile.source.clear();
    return profile;
}

Profile load_profile(const std::string &path) {
    const std::string text = text_of(path);
    try {
        Profile profile = profile_from_json(text);
        profile.source = path;
        if (!profile.host.empty())
            profile.source += ", of " + profile.host;
        if (!profile.date.empty())
            profile.source += ", " + profile.date;
        return profile;
    } catch (const Error &error) {
        throw Error(error.status(),
                    "the profile " + path + " (STRETTO_TUNING_FILE) is malformed: " + error.what() +
                        "; correct it, or unset STRETTO_TUNING_FILE and the network is measured");
    }
}

} // namespace stretto::select

// SPDX-License-Identifier: BSD-3-Clause
#include "select/imported.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/mix.hpp"
#include "schedule/json.hpp"

namespace stretto::select {

using schedule::Collective;
using schedule::Position;

namespace {

constexpr std::size_t kMostScheduleBytes = std::size_t{1} << 30; // ten million ops take less

// As it can be shown, whole: two long paths may differ at the end only.
std::string words(const std::string &path) {
    std::string shown = "schedule file '" + path + "'";
    std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown;
}

[[noreturn]] void refuse(const std::string &path, const std::string &what,
                         Status status = Status::argument) {
    throw Error(status, words(path) + " " + what);
}

// "cannot be read: ..."
[[noreturn]] void unreadable(const std::string &path, const std::string &why) {
    refuse(path, "cannot be read: " + why + "; every rank needs it, at this place on its host");
}

struct Descriptor {
    const int fd;
    ~Descriptor() {
        if (fd >= 0)
            close(fd);
    }
};

// Reads regular files only: reading another kind of file may block or never end.
std::string content_of(const std::string &path) {
    const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat about{};
    if (file.fd < 0 || fstat(file.fd, &about) != 0)
        unreadable(path, std::strerror(errno));
    if (!S_ISREG(about.st_mode))
        unreadable(path, "it is no regular file");
    if (static_cast<std::size_t>(about.st_size) > kMostScheduleBytes)
        unreadable(path, "it has more than 1 GiB");
    std::string text(static_cast<std::size_t>(about.st_size), '\0');
    for (std::size_t have = 0; have < text.size();) {
        const ssize_t got = read(file.fd, text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            unreadable(path, std::strerror(errno));
        if (got == 0)
            text.resize(have); // another process has shortened the file
        have += static_cast<std::size_t>(got);
    }
    return text;
}

std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = text.size();
    for (std::size_t at = 0; at < text.size(); at += sizeof hash) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
        hash = mix(hash, word);
    }
    return hash;
}

schedule::Schedule read(const std::string &path, const std::string &text) {
    try {
        return schedule::from_json(text);
    } catch (const Error &error) {
        refuse(path, std::string("is no schedule: ") + error.what() +
                         " (docs/schedule-json.md has the format)");
    }
}

bool goes_by_arrival(const schedule::Schedule &schedule) {
    for (Position p = 0; p < schedule.ranks; ++p)
        for (const schedule::Op &op : schedule.program(p).ops)
            if (op.group > 0)
                return true;
    return false;
}

// Where parts have owners, each owner's blocks must be its part, neither more nor less.
std::string misfit(const schedule::Schedule &schedule, std::size_t count) {
    std::vector<std::size_t> bounds;
    try {
        bounds = schedule.partition.bounds(count);
    } catch (const Error &error) {
        return error.what();
    }
    if (!schedule::in_parts(schedule.contract.collective()))
        return "";
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const std::size_t blocks = (bounds.size() - 1) / ranks; // of each
    for (std::size_t p = 0; p <= ranks; ++p)
        if (bounds[p * blocks] != count / ranks * p)
            return "its blocks do not cut " + std::to_string(count) + " elements into equal parts";
    return "";
}

} // namespace

std::shared_ptr<const Imported> import_schedule(const std::string &path, int ranks) {
    const std::string text = content_of(path);
    auto made = std::make_shared<Imported>();
    made->path = path;
    made->hash = hash_of(text);
    made->schedule = read(path, text);
    const schedule::Schedule &schedule = made->schedule;
    if (schedule.contract.collective() == Collective::custom)
        refuse(path, "has a contract of its own, which no call has; only schedules of a collective "
                     "can be played");
    if (schedule.token)
        refuse(path, "chooses its end by a token, which cannot be played; write one end only");
    if (schedule.ranks != ranks)
        refuse(path,
               "is for " + std::to_string(schedule.ranks) + " ranks and cannot run on " +
                   std::to_string(ranks) + "; bring one for so many, or name an algorithm",
               Status::unsupported);
    made->verdict = schedule::verify(schedule);
    if (!made->verdict.ok)
        refuse(path, "is not correct and will not be played: " + made->verdict.failure +
                         "; `stretto verify --schedule` checks files");
    made->by_arrival = goes_by_arrival(schedule);
    return made;
}

Unfit unfit(const Imported &imported, const std::string &why, const std::string &remedy) {
    return {Status::unsupported, words(imported.path) + " " + why + "; " + remedy};
}

void require(const Imported &imported, const Situation &s, Position root, std::size_t count) {
    const auto refuse_if = [&](bool wrong, const std::string &why) {
        if (!wrong)
            return;
        std::string others;
        for (const std::string_view name : able(s))
            others.append(others.empty() ? "" : ", ").append(name);
        throw unfit(imported, why,
                    "algorithms that can run: " + (others.empty() ? "none" : others));
    };
    const schedule::Schedule &schedule = imported.schedule;
    const schedule::Contract &contract = schedule.contract;
    const auto name = [](Collective each) { return std::string(schedule::name(each)); };
    refuse_if(contract.collective() != s.collective,
              "is of " + name(contract.collective()) + ", not of " + name(s.collective));
    refuse_if(schedule.ranks != s.ranks, "is for " + std::to_string(schedule.ranks) +
                                             " ranks and cannot run on " + std::to_string(s.ranks));
    refuse_if(!s.equal_shares, "cannot run with unequal shares");
    refuse_if(rooted(s.collective) && contract.root() != root,
              "has root " + std::to_string(contract.root()) + ", the call " + std::to_string(root));
    if (reduces(s.collective)) {
        const schedule::Verdict &verdict = imported.verdict;
        refuse_if(!s.commutative && !verdict.order_preserving,
                  "does not keep the order of ranks, which this operation needs");
        refuse_if(s.consistent && !verdict.consistent, "does not give all ranks the same bits");
        refuse_if(s.reproducible != Reproducible::off && imported.by_arrival,
                  "depends on the order of arrival, which mode " +
                      std::string(select::name(s.reproducible)) + " rules out");
        refuse_if(s.reproducible == Reproducible::full && !verdict.canonical,
                  "is not the canonical tree, which mode full needs");
    }
    const std::string why = misfit(schedule, count);
    refuse_if(!why.empty(),
              "cannot run a vector of " + std::to_string(count) + " elements: " + why);
}

} // namespace stretto::select

// SPDX-License-Identifier: BSD-3-Clause
// Names and values that users and launchers write: settings, algorithms with their parameters and
// rules, addresses and interfaces, and what the environment says of rank and job.
#include <algorithm>
#include <map>
#include <string>

#include "algorithms/algorithm.hpp"
#include "base/config.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"
#include "bootstrap/environment.hpp"
#include "fuzz.hpp"
#include "net/interfaces.hpp"
#include "select/forced.hpp"

using namespace stretto;
using fuzz::must;

namespace {

// Runs `body`; what it refuses, it refuses as a wrong argument that says something.
template<class Body>
void try_out(Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        must(error.status() == Status::argument && *error.what() != '\0',
             "what is refused is a wrong argument, with a message");
    }
}

// "s<value>": the value of every setting in turn.
void try_setting(std::string_view value) {
    for (const SettingInfo &info : settings())
        try_out([&] {
            const SettingValue read = parse(info, value);
            must(read.text == value, "the text is kept");
            must(info.kind == SettingKind::text || info.kind == SettingKind::choice ||
                     (read.number >= info.least && read.number <= info.most),
                 "a number lies in its range");
            must(info.kind != SettingKind::boolean || read.number <= 1, "a boolean is 0 or 1");
        });
}

// "a<name>": as an algorithm of every collective.
void try_algorithm(std::string_view name) {
    using schedule::Collective;
    for (int each = 0; each <= static_cast<int>(Collective::custom); ++each)
        try_out([&] {
            const auto choice = algorithms::parse(static_cast<Collective>(each), name);
            must(choice.algorithm != nullptr, "an accepted name is an algorithm");
            for (const auto &[parameter, value] : choice.parameters) {
                bool in_range = false;
                for (const algorithms::Parameter &declared : choice.algorithm->parameters)
                    in_range =
                        in_range || (declared.name == parameter && !value.empty() &&
                                     (declared.list || value.size() == 1) &&
                                     std::ranges::all_of(value, [&](std::int64_t number) {
                                         return number >= declared.least && number <= declared.most;
                                     }));
                must(in_range, "an accepted parameter is declared and in its range");
            }
            // Fits or says why not, for any number of ranks.
            const auto problem = algorithms::problem_of(choice, 1 + static_cast<int>(name.size()));
            must(algorithms::misfit(choice, problem).size() != 1, "a reason is a sentence");
        });
}

// "t<hosts>": who shares a host.
void try_hosts(std::string_view text) {
    using schedule::Topology;
    for (const schedule::Position ranks : {0, 6})
        try_out([&] {
            const Topology read = Topology::parse(text, ranks);
            must(read.known() && (ranks == 0 || read.ranks() == ranks), "as many ranks as asked");
            const std::string again = read.text();
            must(again.size() > 10'000 || Topology::parse(again).host_of() == read.host_of(),
                 "hosts are read as they are written");
        });
}

// "r<rules>": what is forced.
void try_forced(std::string_view text) {
    try_out([&] {
        for (const select::ForcedRule &rule : select::parse_forced(text)) {
            must(rule.low <= rule.high, "an accepted range is one");
            // A lone "auto" is no rule, so there is another.
            const auto again = select::parse_forced(to_text(rule) + ",auto");
            must(again.size() == 2 && again[0] == rule, "a rule is read as it is written");
        }
    });
}

// "e<process>|NAME=value|...": an environment, and the text of /proc/<pid>/stat of every process.
void try_environment(std::string_view text) {
    const auto parts = fuzz::split(text, '|');
    std::map<std::string, std::string> variables;
    std::vector<std::string> entries;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        // An environment holds no zero bytes.
        const std::string entry(parts[i].substr(0, parts[i].find('\0')));
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos)
            continue;
        entries.push_back(entry);
        variables.try_emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    std::vector<const char *> list;
    for (const std::string &entry : entries)
        list.push_back(entry.c_str());
    list.push_back(nullptr);
    const auto environment = [&](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
    const auto process = [&](int) { return std::string(parts[0]); };
    const bootstrap::Processes all{[](int pid) { return pid - 1; },
                                   [&](int) { return std::string(text); },
                                   [](int pid) { return std::to_string(pid); },
                                   [](int descriptor) { return std::to_string(descriptor); }};

    const ReadSettings read = read_settings(environment);
    must(read.config.network.sockets >= 1, "a value that cannot be read leaves the default");
    must(read.states.size() == settings().size(), "every setting has a state");
    must(unknown_settings(list.data()).size() <= entries.size(), "one warning for each variable");
    try_out([&] {
        const bootstrap::Identity me = bootstrap::identify(read.config.network.addr, environment,
                                                           process, bootstrap::is_open, all);
        must(me.size >= 1 && me.rank >= 0 && me.rank < me.size, "a rank is one of its job");
        must(!me.job.empty(), "a job has a name");
    });
}

// "h<host>:<port>": where ranks meet.
void try_endpoint(std::string_view text) {
    try_out([&] {
        const net::Endpoint endpoint = net::parse_endpoint("STRETTO_ADDR", text);
        must(!endpoint.host.empty() && endpoint.port != 0, "an endpoint has a host and a port");
        const auto address = net::Address::numeric(endpoint.host, endpoint.port);
        if (!address)
            return; // a name
        const net::Endpoint again = net::parse_endpoint("STRETTO_ADDR", address->text());
        must(net::Address::numeric(again.host, again.port) == address,
             "an address is read as it is written");
    });
}

// "i<interface>|<list>": which interfaces to take.
void try_interfaces(std::string_view text) {
    const auto parts = fuzz::split(text, '|');
    try_out([&] {
        const net::InterfaceFilter filter(parts.back());
        must(!filter.takes_all(), "an accepted list names something");
        (void)filter.takes(parts[0]);
    });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view rest = fuzz::text_of(data + 1, size - 1);
    switch (*data) {
    case 's': try_setting(rest); break;
    case 'a': try_algorithm(rest); break;
    case 'r': try_forced(rest); break;
    case 'e': try_environment(rest); break;
    case 'h': try_endpoint(rest); break;
    case 'i': try_interfaces(rest); break;
    case 't': try_hosts(rest); break;
    default:
        must(edit_distance(rest, rest) == 0, "a word is near to itself");
        must(shown(rest).size() <= 83, "what is shown is short");
    }
    return 0;
}

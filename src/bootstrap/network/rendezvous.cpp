// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/rendezvous.hpp"

#include <algorithm>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "base/warning.hpp"
#include "bootstrap/network/transports.hpp"
#include "bootstrap/phrases.hpp"
#include "net/sockets.hpp"
#include "select/select.hpp"

namespace stretto::bootstrap {

Rendezvous::Rendezvous(Aside, const Config &config, const Identity &me, const net::Key &key,
                       Descriptor socket, const AddressTable &shape, const Patience &patience)
    : chooses_rings_(config.shape.ring_bytes == 0), congestion_(config.network.congestion), me_(me),
      patience_(patience), table_(shape),
      listener_(std::move(socket), key, {0, UINT32_MAX, 0}, only_guests()),
      named_(static_cast<std::size_t>(me.size)) {
    table_.host_of.assign(named_.size(), 0);
    table_.endpoints.assign(named_.size(), {});
    lacks_.assign(named_.size(), {});
}

Rendezvous::Rendezvous(const Config &config, const Identity &me, const net::Key &key,
                       Descriptor socket, const AddressTable &shape, const Patience &patience)
    : Rendezvous(Aside(), config, me, key, std::move(socket), shape, patience) {
    try {
        thread_ = named_thread("stretto-boot", [this] { run(); });
    } catch (const std::system_error &error) {
        const Error why(Status::system,
                        rank_here(me_.rank) + " cannot start a thread, by which the others meet: " +
                            error.what() + "; raise the limit of processes (ulimit -u)");
        turn_away(why);
        throw why;
    }
}

Rendezvous::~Rendezvous() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable())
        thread_.join();
}

void Rendezvous::turn_away(const Error &why) noexcept {
    try {
        failure_ = why;
        stay(kStaysAsideNs);
        for (int rounds = 0; rounds < 5; ++rounds) // what was said last
            round();
    } catch (...) { // they wait for as long as they may, then
    }
}

// Until all have been told of the failure.
void Rendezvous::stay(std::uint64_t nanoseconds) {
    const std::uint64_t end = now_ns() + nanoseconds;
    const auto absent = [&] {
        return std::find(named_.begin() + 1, named_.end(), false) != named_.end();
    };
    while (absent() && now_ns() < end && !patience_.ended())
        round();
}

void Rendezvous::give_up(const Error &why) noexcept {
    if (stop_.load(std::memory_order_relaxed))
        return;
    try {
        why_ = why;
    } catch (...) { // without words, then
    }
    stop_.store(true, std::memory_order_release);
    while (!over()) // else its ranks would be seen to go first
        usleep(1000);
}

net::ListenerOptions Rendezvous::only_guests() {
    net::ListenerOptions options;
    options.judge = [](const net::ConnectionRole &purpose) {
        return purpose.kind == net::ConnectionKind::rendezvous;
    };
    options.report = [this](net::Refusal, const std::string &sentence) {
        warn(sentence);
        turned_away_ += "; " + sentence;
    };
    return options;
}

void Rendezvous::run() {
    try {
        while (!over_) {
            round();
            const bool stopped = stop_.load(std::memory_order_acquire);
            if (stopped && !over_ && why_)
                fail(*why_);
            else if (stopped && !over_)
                fail({Status::peer, "rank 0 has given up before the job was complete"});
            else if (too_late() && !over_)
                fail({Status::timeout, "after " + patience_.seconds() + missing()});
        }
        // Ranks that call a little later are told the failure as well.
        if (failure_ && failure_->status() != Status::timeout)
            stay(kStaysNs);
        // What was said last must reach them.
        const std::uint64_t start = now_ns();
        const auto unsaid = [this] {
            return std::any_of(clients_.begin(), clients_.end(), [](const auto &client) {
                return !client->gone && client->channel.wants_to_send();
            });
        };
        while (unsaid() && now_ns() - start < 5'000'000'000)
            round();
    } catch (...) {
        // They see their connections close.
    }
    told_.store(true, std::memory_order_release);
}

// A rank that lacks a connection knows to which peer, and reports that before it gives up.  Once
// all ranks are named, rank 0 waits for these reports.
bool Rendezvous::too_late() const {
    return number_ == me_.size ? patience_.ended_for_reports() : patience_.ended();
}

void Rendezvous::round() {
    constexpr int kPollMs = 20;
    std::vector<pollfd> descriptors{{listener_.descriptor(), POLLIN, 0}};
    for (const auto &client : clients_)
        if (!client->gone)
            descriptors.push_back(
                {client->channel.descriptor(),
                 static_cast<short>(client->channel.wants_to_send() ? POLLIN | POLLOUT : POLLIN),
                 0});
    (void)poll(descriptors.data(), descriptors.size(), kPollMs);
    listener_.progress(now_ns());
    while (auto opened = listener_.take()) {
        const std::uint32_t rank = opened->agreement.purpose.from;
        clients_.push_back(
            std::make_unique<BootstrapClient>(std::move(*opened), rank, me_.size, congestion_));
    }
    for (const auto &client : clients_)
        if (!client->gone)
            hear(*client);
    if (!over_ && !failure_ &&
        std::all_of(named_.begin(), named_.end(), [](bool named) { return named; }) &&
        std::all_of(clients_.begin(), clients_.end(),
                    [](const auto &client) { return client->complete || client->ranks.empty(); })) {
        for (const auto &client : clients_)
            if (!client->gone)
                client->channel.say(BootstrapMessage::go);
        over_ = true;
    }
}

void Rendezvous::hear(BootstrapClient &client) {
    const bool whole = client.channel.progress();
    BootstrapMessage word;
    while (client.channel.heard(word)) {
        if (client.refused)
            continue;
        if (word.kind == BootstrapMessage::record && failure_)
            turn_away(client, word);
        else if (word.kind == BootstrapMessage::record && !over_)
            record(client, word);
        else if (word.kind == BootstrapMessage::complete)
            client.complete = true;
        else if (word.kind == BootstrapMessage::failed && !over_)
            fail(BootstrapChannel::failure(word));
    }
    if (whole)
        return;
    client.gone = true;
    if (!over_ && !failure_ && !client.ranks.empty())
        fail({Status::peer, in_words(client) + " died while the job was starting"});
}

void Rendezvous::turn_away(BootstrapClient &client, const BootstrapMessage &word) {
    const auto record = parse_rank_record(word.bytes);
    if (record && record->rank > 0 && record->rank < me_.size &&
        !named_[static_cast<std::size_t>(record->rank)]) {
        named_[static_cast<std::size_t>(record->rank)] = true;
        ++number_;
    }
    client.channel.say_failed(failure_->status(), failure_->what());
}

// Launches can be compared within a host: what started ranks there, started all of them.  Who calls
// from the very address that it has called is on this host.
bool Rendezvous::is_of_other_job(const BootstrapClient &client, const RankRecord &record) const {
    const std::uint64_t mine = launch_hash(me_);
    return mine != 0 && record.launch != 0 && mine != record.launch &&
           client.channel.peer().address.host() ==
               net::local_address(client.channel.descriptor()).host();
}

// Control needs TCP, whatever the data goes by.
bool Rendezvous::make_sense(const transport::Endpoints &endpoints) {
    return find(endpoints, tcp_factory().name()) != nullptr &&
           std::ranges::all_of(endpoints, [](const transport::EndpointAddress &each) {
               const auto *factory = transport_named(each.transport);
               return factory == nullptr || factory->version() != each.version ||
                      factory->is_address(each.bytes);
           });
}

// One more rank has been named.
void Rendezvous::record(BootstrapClient &client, const BootstrapMessage &word) {
    const auto record = parse_rank_record(word.bytes);
    if (!record || !make_sense(record->endpoints))
        return fail({Status::mismatch, "the hosts of this job run different versions of Stretto; "
                                       "install one version"});
    const std::string who = "rank " + std::to_string(record->rank);
    if (is_of_other_job(client, *record)) {
        client.refused = true;
        return client.channel.say_failed(
            Status::mismatch, "another job meets at " + me_.address + ": " + who +
                                  " and its rank 0 are on one host, and different processes have "
                                  "started them; give each job a MASTER_PORT of its own, or set "
                                  "STRETTO_JOB to the same name on all ranks of one job");
    }
    if (record->size != me_.size)
        return fail({Status::mismatch, who + " says that " + me_.words() + " has " +
                                           std::to_string(record->size) + " ranks, rank 0 says " +
                                           std::to_string(me_.size) +
                                           "; start all ranks of the job alike"});
    if (record->rank < 0 || record->rank >= me_.size ||
        named_[static_cast<std::size_t>(record->rank)])
        return fail({Status::mismatch,
                     "two processes say that they are " + who + " of " + me_.words() +
                         "; give every job an address of its own (" + me_.address_from + ")"});
    const auto rank = static_cast<std::size_t>(record->rank);
    named_[rank] = true;
    ++number_;
    // Hosts are numbered in the order in which their leaders come.
    const auto host = std::find_if(clients_.begin(), clients_.end(),
                                   [&](const auto &each) { return each.get() == &client; });
    table_.host_of[rank] = static_cast<std::int32_t>(host - clients_.begin());
    table_.endpoints[rank] = record->endpoints;
    lacks_[rank] = record->lacks;
    client.ranks.push_back(record->rank);
    client.cores.kernel = record->kernel;
    client.cores.allowed.add(record->cores);
    client.cores.worth = record->cores_here;
    ++client.cores.ranks;
    if (number_ == me_.size)
        send_table();
}

void Rendezvous::send_table() {
    // Guests without ranks are none: numbers have no gaps.
    std::int32_t next = 0;
    std::vector<HostCores> cores;
    for (const auto &client : clients_) {
        if (client->ranks.empty())
            continue;
        for (const int rank : client->ranks)
            table_.host_of[static_cast<std::size_t>(rank)] = next;
        ++next;
        cores.push_back(client->cores);
    }
    table_.cores = cores_as_one_host(cores);
    table_.one_machine = on_one_machine(cores);
    if (chooses_rings_)
        table_.ring_bytes = select::ring_bytes(me_.size, next);
    if (next > 1 && agreed_transport(table_.endpoints).empty())
        return fail({Status::mismatch, me_.words() + " cannot start: " +
                                           no_common_transport(table_.endpoints, lacks_, who())});
    const std::vector<std::byte> bytes = write(table_);
    for (const auto &client : clients_)
        if (!client->gone)
            client->channel.say(BootstrapMessage::table, 0, bytes);
}

void Rendezvous::fail(const Error &why) {
    failure_ = why;
    for (const auto &client : clients_)
        if (!client->gone)
            client->channel.say_failed(why.status(), why.what());
    over_ = true;
}

std::string Rendezvous::missing() const {
    std::vector<int> absent;
    for (int rank = 0; rank < me_.size; ++rank)
        if (!named_[static_cast<std::size_t>(rank)])
            absent.push_back(rank);
    if (!absent.empty())
        return " nothing was heard of rank(s)" + listed(absent) + " of " + me_.words() +
               "; do they run, do they come to stretto_init, and can they reach " + me_.address +
               " (" + me_.address_from + ")?" + turned_away_;
    std::string late;
    for (const auto &client : clients_)
        if (!client->complete && !client->ranks.empty())
            late += (late.empty() ? " " : ", ") + in_words(*client);
    return late + " have come, and have not said that they are connected to all others of " +
           me_.words() + ", nor why; are they stopped, or cut off?";
}

// By rank.
std::vector<std::string> Rendezvous::who() const {
    std::vector<std::string> names(named_.size());
    for (const auto &client : clients_)
        for (const int rank : client->ranks)
            names[static_cast<std::size_t>(rank)] =
                "rank " + std::to_string(rank) + " on " + client->channel.peer().address.host();
    return names;
}

std::string Rendezvous::in_words(const BootstrapClient &client) const {
    std::string ranks;
    for (const int rank : client.ranks)
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return (client.ranks.size() == 1 ? "rank " : "ranks ") + ranks + " on " +
           client.channel.peer().address.host();
}

} // namespace stretto::bootstrap

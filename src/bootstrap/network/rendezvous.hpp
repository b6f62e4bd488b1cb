// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job on several hosts meet: at rank 0, before there is anything else.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/bootstrap_channel.hpp"
#include "bootstrap/network/core_shares.hpp"
#include "bootstrap/network/table.hpp"
#include "bootstrap/patience.hpp"
#include "net/listener.hpp"

namespace stretto::bootstrap {

// How long the others try before they look at the port after that of rank 0, where it says so if it
// has none of its own; and how long it stays there.
inline constexpr std::uint64_t kAsideNs = 1'000'000'000, kStaysAsideNs = 8'000'000'000; // ns

// The leader of each host calls and names its ranks.  When all ranks are named, rank 0 tells all
// leaders where all ranks are; when all hosts have joined, that they may begin.  If anything fails
// meanwhile, it tells all leaders.
class Rendezvous {
public:
    // `socket` listens at the address that all ranks know.  `shape` is the table without its ranks.
    Rendezvous(const Config &config, const Identity &me, const net::Key &key, Descriptor socket,
               const AddressTable &shape, const Patience &patience);
    // The same without a thread, for turn_away().
    struct Aside {};
    Rendezvous(Aside, const Config &config, const Identity &me, const net::Key &key,
               Descriptor socket, const AddressTable &shape, const Patience &patience);
    ~Rendezvous();
    Rendezvous(const Rendezvous &) = delete;
    Rendezvous &operator=(const Rendezvous &) = delete;

    // Rank 0 cannot join: tells all why, instead of that it has given up.
    void give_up(const Error &why) noexcept;
    // Without a thread: tells all ranks that come why rank 0 cannot be where they look for it,
    // until all have heard it or a few seconds are over.
    void turn_away(const Error &why) noexcept;
    // Whether all have been told how it ended.
    bool over() const { return told_.load(std::memory_order_acquire); }

private:
    struct BootstrapClient {
        BootstrapClient(net::Opened opened, std::uint32_t rank, int job_size,
                        const std::string &congestion)
            : channel(std::move(opened), rank, job_size, congestion) {}
        BootstrapChannel channel;
        std::vector<int> ranks;
        HostCores cores;
        bool complete = false, gone = false;
        bool refused = false; // it is of another job: what it says is not heard
    };

    net::ListenerOptions only_guests();
    void run();
    bool too_late() const;
    void round();
    void hear(BootstrapClient &client);
    void record(BootstrapClient &client, const BootstrapMessage &word);
    void turn_away(BootstrapClient &client, const BootstrapMessage &word);
    void stay(std::uint64_t nanoseconds);
    bool is_of_other_job(const BootstrapClient &client, const RankRecord &record) const;
    void send_table();
    void fail(const Error &why);
    std::string missing() const;
    static bool make_sense(const transport::Endpoints &endpoints);
    std::vector<std::string> who() const;
    std::string in_words(const BootstrapClient &client) const;

    const bool chooses_rings_; // their size, as there are hosts
    const std::string congestion_;
    const Identity me_;
    const Patience patience_;
    AddressTable table_;
    std::vector<std::vector<Lack>> lacks_; // by rank
    std::string turned_away_;              // who knocked and was not let in, for messages
    net::Listener listener_;
    std::vector<std::unique_ptr<BootstrapClient>> clients_;
    std::vector<bool> named_;
    int number_ = 0; // of ranks named
    bool over_ = false;
    std::optional<Error> failure_; // of the job, of which all who come are told
    std::optional<Error> why_;     // written before stop_
    std::atomic<bool> stop_{false}, told_{false};
    std::thread thread_; // last: uses all of the above
};

} // namespace stretto::bootstrap

// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job meet over UCX.  Each communicator has workers of its own, whose
// addresses its ranks tell one another here: by a worker of the job, whose addresses are in the
// table.
//
// A rank that has all its links no longer needs the meeting, nor do others need it there: each of
// its peers has heard it here, or could not have connected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/crypto.hpp"
#include "transport/ucx/ucp_worker.hpp"
#include "transport/ucx/ucx_links.hpp"

namespace stretto::bootstrap {

// What a rank says of itself to another of its communicator.
struct UcxIntroduction {
    std::string place;             // of its host
    std::vector<std::byte> worker; // its address
};

class UcxMeeting;

// One that is sent.
class UcxGreeting {
public:
    enum class State : std::uint8_t { on_its_way, sent, failed };

    State state() const { return state_.load(std::memory_order_acquire); }
    const std::string &why() const { return why_; } // it failed

private:
    friend class UcxMeeting;
    void over(std::string why);

    const UcxMeeting *meeting_ = nullptr;
    std::vector<std::byte> header_, bytes_; // in the hands of UCX
    std::atomic<State> state_{State::on_its_way};
    std::string why_;
};

class UcxMeeting {
public:
    // Of `rank` of the job with this key.
    UcxMeeting(std::shared_ptr<const transport::ucp::OwnedContext> context, const net::Key &key,
               int rank);
    ~UcxMeeting();
    UcxMeeting(const UcxMeeting &) = delete;
    UcxMeeting &operator=(const UcxMeeting &) = delete;

    std::vector<std::byte> address() const { return worker_->address(); }
    // Of all ranks of the job.
    void meet(std::vector<std::vector<std::byte>> addresses);

    // All below by any thread.
    // Sends to rank `to` of the job what this rank is in the communicator with that key.
    std::shared_ptr<const UcxGreeting> greet(int to, std::uint64_t epoch,
                                             const UcxIntroduction &own);
    // Sends and receives; then states of greetings, and introductions, may be other ones.
    void progress();
    // A descriptor that is readable once there is something to do; -1 if there is already.
    int arm();
    // What rank `from` of the job has said last; nothing if nothing has come, or that of the worker
    // at the address `known`.
    std::optional<UcxIntroduction> heard(int from, std::uint64_t epoch,
                                         std::span<const std::byte> known);
    // The communicator has all its links.
    void forget(std::uint64_t epoch);
    // UCX may abort the process if a worker ends while it connects: an assertion of version 1.13,
    // for one, does not expect it.  So these links end with the meeting, when UCX has had some
    // time.
    void settle_later(std::unique_ptr<transport::UcxLinks> links);

private:
    struct Peer {
        std::vector<std::byte> address;
        transport::ucp::Endpoint *endpoint = nullptr; // null: none yet, or it broke
        bool broken = false;                          // it has to be closed
    };

    std::string why(transport::ucp::Status status) const; // "" if it is ok
    net::Bytes32 proof(std::uint64_t epoch, int from, int to,
                       std::span<const std::byte> bytes) const;
    void take_greeting(std::span<const std::byte> header, std::span<const std::byte> bytes);
    static transport::ucp::Status on_came(void *argument, const void *header,
                                          std::size_t header_length, void *data, std::size_t length,
                                          const transport::ucp::MessageParameters *parameters);
    static void on_sent(transport::ucp::Request request, transport::ucp::Status status,
                        void *greeting);
    static void on_failed(void *peer, transport::ucp::Endpoint *endpoint,
                          transport::ucp::Status status);

    const net::Key key_;
    const int rank_;
    std::mutex mutex_; // of all that follows
    std::unique_ptr<transport::ucp::OwnedWorker> worker_;
    const transport::ucp::Library &library_; // callbacks come while the worker ends, too
    std::vector<Peer> peers_;                // by rank of the job; UCX knows where they lie
    std::vector<std::shared_ptr<UcxGreeting>> greetings_;            // that UCX may still read
    std::map<std::pair<std::uint64_t, int>, UcxIntroduction> heard_; // by communicator and rank
    std::vector<std::unique_ptr<transport::UcxLinks>> unsettled_;
};

} // namespace stretto::bootstrap

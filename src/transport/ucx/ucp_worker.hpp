// SPDX-License-Identifier: BSD-3-Clause
// Contexts and workers of UCP.  A worker sends and receives messages over all devices that its
// context uses; only one thread at a time may use it.  Workers of one context do not wait for one
// another.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/ucx/ucp_library.hpp"

namespace stretto::transport::ucp {

// What registered memory is for: a window that a peer writes, the rank's own rings, from which it
// sends, or other memory that a device reads or writes for a call, such as a caller's buffer.
enum class MemoryUse : std::uint8_t { window, rings, buffer };

// Whether Stretto registers what it sends, and bounds how much.  If not, UCX keeps registrations in
// a cache of its own.
enum class Registers : std::uint8_t { yes, no };

// Of one rank of a job.
class OwnedContext {
public:
    // `endpoints`: how many a worker will have, which UCX wants to know.  Throws Error(system).
    OwnedContext(const Library &library, std::size_t endpoints,
                 Registers registers = Registers::yes);
    ~OwnedContext();
    OwnedContext(const OwnedContext &) = delete;
    OwnedContext &operator=(const OwnedContext &) = delete;

    const Library &library() const { return library_; }
    Context *get() const { return context_; }
    // Bytes that are registered (registered_memory.hpp), by all communicators of the rank.
    std::size_t registered_bytes(MemoryUse use) const {
        return registered_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
    }
    void note_registered(MemoryUse use, std::ptrdiff_t more) const {
        registered_[static_cast<std::size_t>(use)].fetch_add(static_cast<std::size_t>(more),
                                                             std::memory_order_relaxed);
    }

private:
    const Library &library_;
    Context *context_ = nullptr;
    mutable std::array<std::atomic<std::size_t>, 3> registered_{}; // by use
};

class OwnedWorker {
public:
    explicit OwnedWorker(std::shared_ptr<const OwnedContext> context);
    ~OwnedWorker();
    OwnedWorker(const OwnedWorker &) = delete;
    OwnedWorker &operator=(const OwnedWorker &) = delete;

    const Library &library() const { return library_; }
    const std::shared_ptr<const OwnedContext> &context() const { return context_; }
    Worker *get() const { return worker_; }
    // By which ranks of other hosts reach it: memory that it shares on this host is left out.
    std::vector<std::byte> address() const;
    // For each message with this number.
    void handle(unsigned id, HandlerParameters::Came came, void *argument);
    // True if anything happened.
    bool progress();
    // Readable when something has happened since arm().
    int descriptor() const { return descriptor_; }
    // False: there is something already, call progress().
    bool arm() { return library_.worker_arm(worker_) == Status::ok; }
    // `failed` is called once if the peer cannot be reached any more.
    Endpoint *connect(std::span<const std::byte> address, EndpointParameters::Failed failed,
                      void *argument);
    // Whether a device writes what is put by this endpoint; else UCX emulates puts by messages.
    bool device_puts(Endpoint *endpoint) const;
    // The key of a peer's memory, from what the peer has packed.  Throws Error(system).
    RemoteKey *unpack(Endpoint *endpoint, std::span<const std::byte> packed);
    // Waits until the peer has all that was sent by the endpoint, for ten seconds at most.  Only if
    // nothing else uses the worker.
    void settle(Endpoint *endpoint) noexcept;
    // At once, whatever the peer does.  What is unfinished fails.  `key` (null: none) was unpacked
    // for this endpoint and ends with it: unfinished puts still use it.
    void close(Endpoint *endpoint, RemoteKey *key = nullptr) noexcept;

private:
    struct Closing {
        Request request;
        RemoteKey *key;
    };

    const std::shared_ptr<const OwnedContext> context_;
    const Library &library_;
    Worker *worker_ = nullptr;
    int descriptor_ = -1;
    std::vector<Closing> closing_;
};

// A setting of UCX, without the "UCX_" of its name.
struct Setting {
    std::string name, value;
};
// What Stretto sets, by what UCX prints of its settings (ucp_config_print).  What the user has set
// stays: only a setting that still has UCX's default is changed, and only if this version has it.
std::vector<Setting> own_settings(std::string_view printed, Registers registers);
// The transports that UCX uses: what UCX_TLS or its configuration file says, "all" if nothing does.
std::string named_transports(const Library &library);
// Whether that list names UCX's own TCP.
bool names_tcp(std::string_view transports);
// Whether a device writes what is put by an endpoint of which UCX prints this
// (ucp_ep_print_info).
bool names_device_puts(std::string_view printed);
// The list without UCX's own TCP, unless it is named.  Any process that connects to UCX's TCP can
// write anywhere into the memory of this one: its messages hold addresses, which UCX believes.
std::string without_unnamed_tcp(std::string_view transports);

} // namespace stretto::transport::ucp

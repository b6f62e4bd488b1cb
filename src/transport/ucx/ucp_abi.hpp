// SPDX-License-Identifier: BSD-3-Clause
// The part of UCP's binary interface that Stretto uses.  UCX is loaded at run time, so Stretto
// compiles without its headers; where they are installed, a test compares each of these numbers
// with them (tests/cpp/transport/test_ucp_abi.cpp).
//
// Parameters come in structures whose first field says which others are set.  Later versions of UCX
// add fields at their ends, so these stay valid.
//
// Source: the API of UCP 1.12 and later (https://openucx.readthedocs.io/en/master/api.html).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace stretto::transport::ucp {

// ucs_status_t, which takes one byte.
enum class Status : std::int8_t {
    ok = 0,
    in_progress = 1,
    busy = -15,
    canceled = -16,
    last_error = -100,
};

// ucs_status_ptr_t, the result of operations that may take their time: null if one is done, a small
// negative number if it has failed, otherwise the request.
using Request = void *;
inline bool is_error(Request request) {
    return reinterpret_cast<std::uintptr_t>(request) >=
           static_cast<std::uintptr_t>(static_cast<std::intptr_t>(Status::last_error));
}
inline Status error_of(Request request) {
    return static_cast<Status>(reinterpret_cast<std::intptr_t>(request));
}

// Handles.
struct Config;
struct Context;
struct Worker;
struct Endpoint;
struct Memory;    // that is registered
struct RemoteKey; // of a peer's memory

enum ThreadMode : int { single = 0, serialized = 1, multi = 2 };
enum MemoryType : int { host = 0 };

struct LibraryAttributes {
    static constexpr std::uint64_t kMaxThreadLevelFlag = 1 << 0;
    std::uint64_t set = 0;
    ThreadMode max_thread_level = single;
};

struct Parameters {
    static constexpr std::uint64_t kFeaturesFlag = 1 << 0, kWorkersSharedFlag = 1 << 5,
                                   kEndpointsFlag = 1 << 6;
    static constexpr std::uint64_t kPutsFlag = 1 << 1, kWakeupFlag = 1 << 4,
                                   kMessagesFlag = 1 << 6; // features
    std::uint64_t set = 0, features = 0;
    std::size_t request_size = 0;
    void (*request_init)(void *) = nullptr;
    void (*request_cleanup)(void *) = nullptr;
    std::uint64_t tag_sender_mask = 0;
    int workers_shared = 0; // workers of this context are used by several threads at a time
    std::size_t endpoints = 0;
};

struct WorkerParameters {
    static constexpr std::uint64_t kThreadModeFlag = 1 << 0;
    std::uint64_t set = 0;
    ThreadMode thread_mode = single;
};

struct WorkerAttributes {
    static constexpr std::uint64_t kThreadModeFlag = 1 << 0, kAddressFlag = 1 << 1,
                                   kAddressFlagsFlag = 1 << 2;
    static constexpr std::uint32_t kNetworkOnlyFlag = 1 << 0; // in address_flags
    std::uint64_t set = 0;
    ThreadMode thread_mode = single;
    std::uint32_t address_flags = 0;
    void *address = nullptr;
    std::size_t address_length = 0;
    // What follows is not asked for, but an older UCX may write to it.
    std::size_t max_header = 0;
    char name[32] = {};
    std::size_t max_debug_string = 0;
};

struct MemoryParameters {
    static constexpr std::uint64_t kAddressFlag = 1 << 0, kLengthFlag = 1 << 1,
                                   kMemoryTypeFlag = 1 << 4;
    std::uint64_t set = 0;
    void *address = nullptr;
    std::size_t length = 0;
    unsigned flags = 0, access = 0;
    MemoryType memory_type = host;
};

struct EndpointParameters {
    static constexpr std::uint64_t kAddressFlag = 1 << 0, kErrorModeFlag = 1 << 1,
                                   kErrorHandlerFlag = 1 << 2;
    static constexpr int kPeerErrorsOption = 1; // each operation ends, whatever happens to the peer
    using Failed = void (*)(void *argument, Endpoint *endpoint, Status status);
    std::uint64_t set = 0;
    const void *address = nullptr;
    int error_mode = 0;
    struct {
        Failed failed = nullptr;
        void *argument = nullptr;
    } error_handler;
};

struct RequestParameters {
    static constexpr std::uint32_t kCallbackFlag = 1 << 1, kUserDataFlag = 1 << 2,
                                   kFlagsFlag = 1 << 4, kMemoryTypeFlag = 1 << 6,
                                   kMemoryFlag = 1 << 8;
    static constexpr std::uint32_t kEagerFlag = 1 << 1; // in flags, of a message
    static constexpr std::uint32_t kForceFlag = 1 << 0; // in flags, of the end of an endpoint
    using Sent = void (*)(Request request, Status status, void *user_data);
    using Received = void (*)(Request request, Status status, std::size_t length, void *user_data);
    std::uint32_t set = 0, flags = 0;
    Request request = nullptr;
    union {
        Sent sent = nullptr;
        Received received;
    };
    std::uint64_t datatype = 0;
    void *user_data = nullptr;
    void *reply_buffer = nullptr;
    MemoryType memory_type = host;
    void *received_info = nullptr;
    Memory *memory = nullptr; // the registration of what is sent, or of where it is received

    // Of an operation on this host's memory (not a device's) whose end calls `sent`, unless it ends
    // at once.
    static RequestParameters calling(Sent sent, void *user_data, std::uint32_t flags = 0) {
        RequestParameters all;
        all.set = kCallbackFlag | kUserDataFlag | kFlagsFlag | kMemoryTypeFlag;
        all.flags = flags;
        all.sent = sent;
        all.user_data = user_data;
        return all;
    }
    // Its memory is registered; null: it is not.
    void use(Memory *registration) {
        if (registration == nullptr)
            return;
        set |= kMemoryFlag;
        memory = registration;
    }
};

// ucm_event_t of libucm, by which UCX tells of memory that is about to be unmapped.
struct MemoryEvent {
    static constexpr int kUnmappedFlag = 1 << 17; // type
    using Handler = void (*)(int type, const MemoryEvent *event, void *argument);
    void *address;
    std::size_t bytes;
};

struct MessageParameters { // of one that has come
    static constexpr std::uint64_t kRendezvousFlag = 1 << 17;
    std::uint64_t set = 0;
    Endpoint *reply = nullptr;
};

struct HandlerParameters {
    static constexpr std::uint64_t kIdFlag = 1 << 0, kFlagsFlag = 1 << 1, kCallbackFlag = 1 << 2,
                                   kArgumentFlag = 1 << 3;
    static constexpr std::uint32_t kWholeFlag = 1 << 0; // in flags: one call for each message
    using Came = Status (*)(void *argument, const void *header, std::size_t header_length,
                            void *data, std::size_t length, const MessageParameters *parameters);
    std::uint64_t set = 0;
    unsigned id = 0;
    std::uint32_t flags = 0;
    Came came = nullptr;
    void *argument = nullptr;
};

inline constexpr unsigned kApiMajorVersion = 1, kApiMinorVersion = 12; // the oldest that will do

} // namespace stretto::transport::ucp

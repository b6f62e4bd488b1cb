// SPDX-License-Identifier: BSD-3-Clause
// UCX (https://openucx.org), a library for networks with devices that move data by themselves.  It
// is loaded at run time, when a job opens its transports and may use it.
#pragma once

#include <string>
#include <string_view>

#include "transport/ucx/ucp_abi.hpp"

namespace stretto::transport::ucp {

// Functions of libucp.so.0, and of libucs.so.0 and libucm.so.0, which it brings.
struct Library {
    const char *(*version)() = nullptr;
    const char *(*status_string)(Status status) = nullptr;
    Status (*query)(LibraryAttributes *attributes) = nullptr;
    Status (*config_read)(const char *prefix, const char *file, Config **config) = nullptr;
    Status (*config_modify)(Config *config, const char *name, const char *value) = nullptr;
    void (*config_print)(const Config *config, std::FILE *to, const char *title,
                         int flags) = nullptr;
    void (*config_release)(Config *config) = nullptr;
    Status (*init)(unsigned major, unsigned minor, const Parameters *parameters,
                   const Config *config, Context **context) = nullptr;
    void (*cleanup)(Context *context) = nullptr;
    Status (*worker_create)(Context *context, const WorkerParameters *parameters,
                            Worker **worker) = nullptr;
    void (*worker_destroy)(Worker *worker) = nullptr;
    Status (*worker_query)(Worker *worker, WorkerAttributes *attributes) = nullptr;
    void (*release_address)(Worker *worker, void *address) = nullptr;
    unsigned (*worker_progress)(Worker *worker) = nullptr;
    Status (*worker_get_efd)(Worker *worker, int *descriptor) = nullptr;
    Status (*worker_arm)(Worker *worker) = nullptr;
    Status (*set_handler)(Worker *worker, const HandlerParameters *parameters) = nullptr;
    Status (*connect)(Worker *worker, const EndpointParameters *parameters,
                      Endpoint **endpoint) = nullptr;
    Request (*close)(Endpoint *endpoint, const RequestParameters *parameters) = nullptr;
    Request (*flush)(Endpoint *endpoint, const RequestParameters *parameters) = nullptr;
    Request (*send)(Endpoint *endpoint, unsigned id, const void *header, std::size_t header_length,
                    const void *data, std::size_t length,
                    const RequestParameters *parameters) = nullptr;
    Request (*receive)(Worker *worker, void *message, void *data, std::size_t length,
                       const RequestParameters *parameters) = nullptr;
    void (*release)(Worker *worker, void *message) = nullptr;
    Status (*memory_map)(Context *context, const MemoryParameters *parameters,
                         Memory **memory) = nullptr;
    Status (*memory_unmap)(Context *context, Memory *memory) = nullptr;
    Status (*key_pack)(Context *context, Memory *memory, void **key, std::size_t *length) = nullptr;
    void (*key_release)(void *key) = nullptr;
    Status (*key_unpack)(Endpoint *endpoint, const void *packed, RemoteKey **key) = nullptr;
    void (*key_destroy)(RemoteKey *key) = nullptr;
    Request (*put)(Endpoint *endpoint, const void *data, std::size_t length, std::uint64_t remote,
                   RemoteKey *key, const RequestParameters *parameters) = nullptr;
    Status (*memory_events_on)(int types, int priority, MemoryEvent::Handler handler,
                               void *argument) = nullptr;
    void (*memory_events_off)(int types, MemoryEvent::Handler handler, void *argument) = nullptr;
    void (*endpoint_print)(Endpoint *endpoint, std::FILE *to) = nullptr;
    Status (*request_status)(Request request) = nullptr;
    void (*request_free)(Request request) = nullptr;

    // Throws Error(system) "UCX cannot <what>: <why>" unless the status is ok.
    void check(Status status, const std::string &what) const;
};

// Loads it; a program that has loaded UCX shares it.  It stays loaded.  Throws Error(system), with
// a remedy, if it is not there, too old, or not for several threads.
const Library &library();

// Why this version is not to be used unasked, by what ucp_get_version_string() says; "" if nothing
// is known against it.
std::string known_fault(std::string_view version);

// The threads of UCX, which let in connections, are not in a forked child.  So a child cannot use
// UCX if its parent had contexts when it forked, and says so here; "" if it can.
std::string used_before_fork();
void note_contexts(int more); // that this process has

} // namespace stretto::transport::ucp

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucp_worker.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "base/kernel_files.hpp"
#include "base/status.hpp"
#include "transport/remote/put_window.hpp"

namespace stretto::transport::ucp {

namespace {

constexpr std::uint64_t kCloseWithinNs = 1'000'000'000, kSettleWithinNs = 10'000'000'000;

// What a function of UCX prints.
template<class Print>
std::string printed(Print &&print) {
    char *text = nullptr;
    std::size_t length = 0;
    std::FILE *const stream = open_memstream(&text, &length);
    if (stream == nullptr)
        throw_errno("cannot read what UCX prints");
    print(stream);
    (void)std::fclose(stream);
    std::string copy(text, length);
    std::free(text);
    return copy;
}

// As read from the environment and from UCX's configuration file.
class Settings {
public:
    explicit Settings(const Library &library) : library_(library) {
        library_.check(library_.config_read(nullptr, nullptr, &config_), "read its settings");
    }
    ~Settings() { library_.config_release(config_); }
    Settings(const Settings &) = delete;
    Settings &operator=(const Settings &) = delete;

    const Config *get() const { return config_; }
    void set(const Setting &setting) {
        const auto &[name, value] = setting;
        library_.check(library_.config_modify(config_, name.c_str(), value.c_str()),
                       "take " + value + " for UCX_" + name);
    }
    // What UCX prints of them: one line each, as in its configuration file.
    std::string text() const {
        constexpr int kValuesOption = 1;
        return printed(
            [&](std::FILE *to) { library_.config_print(config_, to, nullptr, kValuesOption); });
    }

private:
    const Library &library_;
    Config *config_ = nullptr;
};

std::string transports_in(std::string_view printed) {
    return std::string(line_after(printed, "UCX_TLS=").value_or("all"));
}

} // namespace

// A put of registered memory needs no copy.  By its own estimates UCX may make one all the same,
// in buffers of 8 KiB (1.18 does, of all that it puts over soft RoCE).
//
// UCX's cache keeps what Stretto has deregistered pinned until its memory is unmapped.
std::vector<Setting> own_settings(std::string_view printed, Registers registers) {
    std::vector<Setting> own{{"TLS", without_unnamed_tcp(transports_in(printed))}};
    if (line_after(printed, "UCX_ZCOPY_THRESH=") == "auto")
        own.push_back({"ZCOPY_THRESH", std::to_string(kLeastPutBytes)});
    if (registers == Registers::yes && line_after(printed, "UCX_RCACHE_ENABLE=") == "try")
        own.push_back({"RCACHE_ENABLE", "n"});
    return own;
}

std::string named_transports(const Library &library) {
    return transports_in(Settings(library).text());
}

bool names_tcp(std::string_view transports) {
    if (transports.starts_with('^'))
        return false;
    const std::string list = "," + std::string(transports) + ",";
    // A backslash before a name says that it is no alias.
    return list.find(",tcp,") != std::string::npos || list.find(",\\tcp,") != std::string::npos;
}

// Of a lane for long puts: "lane[1]:  5:rc_mlx5/mlx5_0:1.0 md[3] -> ... rma_bw#0".
bool names_device_puts(std::string_view printed) {
    return printed.find(" rma_bw#") != std::string_view::npos;
}

std::string without_unnamed_tcp(std::string_view transports) {
    const std::string list(transports);
    if (list.starts_with('^'))
        return list + ",tcp";
    return list == "all" ? "^tcp" : list;
}

OwnedContext::OwnedContext(const Library &library, std::size_t endpoints, Registers registers)
    : library_(library) {
    Settings settings(library);
    for (const Setting &each : own_settings(settings.text(), registers))
        settings.set(each);
    Parameters parameters;
    parameters.set =
        Parameters::kFeaturesFlag | Parameters::kWorkersSharedFlag | Parameters::kEndpointsFlag;
    parameters.features =
        Parameters::kPutsFlag | Parameters::kWakeupFlag | Parameters::kMessagesFlag;
    parameters.workers_shared = 1; // communicators are used by any threads
    parameters.endpoints = endpoints;
    library_.check(
        library_.init(kApiMajorVersion, kApiMinorVersion, &parameters, settings.get(), &context_),
        "find a device (ucp_init)");
    note_contexts(1);
}

OwnedContext::~OwnedContext() {
    library_.cleanup(context_);
    note_contexts(-1);
}

OwnedWorker::OwnedWorker(std::shared_ptr<const OwnedContext> context)
    : context_(std::move(context)), library_(context_->library()) {
    const WorkerParameters parameters{.set = WorkerParameters::kThreadModeFlag,
                                      .thread_mode = serialized};
    library_.check(library_.worker_create(context_->get(), &parameters, &worker_), "make a worker");
    const Status status = library_.worker_get_efd(worker_, &descriptor_);
    if (status != Status::ok) {
        library_.worker_destroy(worker_);
        library_.check(status, "wait for events");
    }
}

// The peers may be dead or stopped, so the end of endpoints is not awaited for long: a worker that
// is destroyed takes the rest with it.  Keys that a put may still use are then left to the process.
OwnedWorker::~OwnedWorker() {
    for (const std::uint64_t start = now_ns();
         !closing_.empty() && now_ns() - start < kCloseWithinNs;) {
        (void)library_.worker_progress(worker_);
        std::erase_if(closing_, [&](const Closing &each) {
            const bool over = library_.request_status(each.request) != Status::in_progress;
            if (over) {
                library_.request_free(each.request);
                if (each.key != nullptr)
                    library_.key_destroy(each.key);
            }
            return over;
        });
    }
    library_.worker_destroy(worker_);
}

std::vector<std::byte> OwnedWorker::address() const {
    WorkerAttributes attributes;
    attributes.set = WorkerAttributes::kAddressFlag | WorkerAttributes::kAddressFlagsFlag;
    attributes.address_flags = WorkerAttributes::kNetworkOnlyFlag;
    library_.check(library_.worker_query(worker_, &attributes), "give a worker's address");
    const auto *const first = static_cast<const std::byte *>(attributes.address);
    std::vector<std::byte> bytes(first, first + attributes.address_length);
    library_.release_address(worker_, attributes.address);
    return bytes;
}

void OwnedWorker::handle(unsigned id, HandlerParameters::Came came, void *argument) {
    HandlerParameters parameters;
    parameters.set = HandlerParameters::kIdFlag | HandlerParameters::kFlagsFlag |
                     HandlerParameters::kCallbackFlag | HandlerParameters::kArgumentFlag;
    parameters.id = id;
    parameters.flags = HandlerParameters::kWholeFlag;
    parameters.came = came;
    parameters.argument = argument;
    library_.check(library_.set_handler(worker_, &parameters), "receive messages");
}

// Bounded, so that a peer that sends without end does not keep the rank here.
bool OwnedWorker::progress() {
    constexpr int kMostRounds = 64;
    bool any = false;
    for (int round = 0; round < kMostRounds && library_.worker_progress(worker_) != 0; ++round)
        any = true;
    return any;
}

Endpoint *OwnedWorker::connect(std::span<const std::byte> address,
                               EndpointParameters::Failed failed, void *argument) {
    EndpointParameters parameters;
    parameters.set = EndpointParameters::kAddressFlag | EndpointParameters::kErrorModeFlag |
                     EndpointParameters::kErrorHandlerFlag;
    parameters.address = address.data();
    parameters.error_mode = EndpointParameters::kPeerErrorsOption;
    parameters.error_handler = {failed, argument};
    Endpoint *endpoint = nullptr;
    library_.check(library_.connect(worker_, &parameters, &endpoint), "make an endpoint");
    return endpoint;
}

bool OwnedWorker::device_puts(Endpoint *endpoint) const {
    return names_device_puts(
        printed([&](std::FILE *to) { library_.endpoint_print(endpoint, to); }));
}

RemoteKey *OwnedWorker::unpack(Endpoint *endpoint, std::span<const std::byte> packed) {
    RemoteKey *key = nullptr;
    library_.check(library_.key_unpack(endpoint, packed.data(), &key), "write a peer's memory");
    return key;
}

void OwnedWorker::settle(Endpoint *endpoint) noexcept {
    const RequestParameters parameters;
    const Request request = library_.flush(endpoint, &parameters);
    if (request == nullptr || is_error(request))
        return;
    for (const std::uint64_t start = now_ns();
         library_.request_status(request) == Status::in_progress &&
         now_ns() - start < kSettleWithinNs;)
        (void)library_.worker_progress(worker_);
    library_.request_free(request);
}

void OwnedWorker::close(Endpoint *endpoint, RemoteKey *key) noexcept {
    RequestParameters parameters;
    parameters.set = RequestParameters::kFlagsFlag;
    parameters.flags = RequestParameters::kForceFlag;
    if (const Request request = library_.close(endpoint, &parameters);
        request != nullptr && !is_error(request))
        closing_.push_back({request, key});
    else if (key != nullptr)
        library_.key_destroy(key);
}

} // namespace stretto::transport::ucp

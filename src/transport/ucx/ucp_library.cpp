// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucp_library.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <dlfcn.h>

#include "base/lazy.hpp"
#include "base/process.hpp"
#include "base/shared_library.hpp"
#include "base/status.hpp"

namespace stretto::transport::ucp {

namespace {

constexpr const char *kName = "libucp.so.0";
constexpr const char *kRemedy = "; install UCX 1.12 or later: Debian's libucx0, or PyPI's "
                                "libucx-cu12, which a program has to load by itself";

// UCX installs handlers of its own for these signals when it is loaded, in place of the program's.
// A library of the program's library must not do that.
class KeptHandlers {
public:
    KeptHandlers() {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            (void)sigaction(kSignals[i], nullptr, &handlers_[i]);
    }
    ~KeptHandlers() {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            (void)sigaction(kSignals[i], &handlers_[i], nullptr);
    }
    KeptHandlers(const KeptHandlers &) = delete;
    KeptHandlers &operator=(const KeptHandlers &) = delete;

private:
    static constexpr std::array kSignals{SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    std::array<struct sigaction, kSignals.size()> handlers_{};
};

void *open_library() {
    if (void *const shared = dlopen(kName, RTLD_NOW | RTLD_NOLOAD))
        return shared;
    const KeptHandlers kept;
    if (void *const own = dlopen(kName, RTLD_NOW | RTLD_LOCAL))
        return own;
    throw Error(stretto::Status::system, "cannot load UCX (" + dl_reason() + ")" + kRemedy);
}

Library load() {
    const SharedLibrary from(open_library(), kName, kRemedy);
    Library all;
    from.find("ucp_get_version_string", all.version);
    from.find("ucs_status_string", all.status_string);
    from.find("ucp_lib_query", all.query);
    from.find("ucp_config_read", all.config_read);
    from.find("ucp_config_modify", all.config_modify);
    from.find("ucp_config_print", all.config_print);
    from.find("ucp_config_release", all.config_release);
    from.find("ucp_init_version", all.init);
    from.find("ucp_cleanup", all.cleanup);
    from.find("ucp_worker_create", all.worker_create);
    from.find("ucp_worker_destroy", all.worker_destroy);
    from.find("ucp_worker_query", all.worker_query);
    from.find("ucp_worker_release_address", all.release_address);
    from.find("ucp_worker_progress", all.worker_progress);
    from.find("ucp_worker_get_efd", all.worker_get_efd);
    from.find("ucp_worker_arm", all.worker_arm);
    from.find("ucp_worker_set_am_recv_handler", all.set_handler);
    from.find("ucp_ep_create", all.connect);
    from.find("ucp_ep_close_nbx", all.close);
    from.find("ucp_ep_flush_nbx", all.flush);
    from.find("ucp_am_send_nbx", all.send);
    from.find("ucp_am_recv_data_nbx", all.receive);
    from.find("ucp_am_data_release", all.release);
    from.find("ucp_mem_map", all.memory_map);
    from.find("ucp_mem_unmap", all.memory_unmap);
    from.find("ucp_rkey_pack", all.key_pack);
    from.find("ucp_rkey_buffer_release", all.key_release);
    from.find("ucp_ep_rkey_unpack", all.key_unpack);
    from.find("ucp_rkey_destroy", all.key_destroy);
    from.find("ucp_put_nbx", all.put);
    from.find("ucm_set_event_handler", all.memory_events_on);
    from.find("ucm_unset_event_handler", all.memory_events_off);
    from.find("ucp_ep_print_info", all.endpoint_print);
    from.find("ucp_request_check_status", all.request_status);
    from.find("ucp_request_free", all.request_free);
    LibraryAttributes attributes{.set = LibraryAttributes::kMaxThreadLevelFlag};
    all.check(all.query(&attributes), "say what it can do");
    if (attributes.max_thread_level < multi)
        throw Error(stretto::Status::system,
                    std::string("UCX ") + all.version() +
                        " on this host was built for one thread; it has to be built with "
                        "--enable-mt, as those of distributions and of PyPI are");
    return all;
}

Lazy<Library> loaded;
std::atomic<int> contexts{0};       // in a child, also those of its parent
std::atomic<std::uint32_t> user{0}; // the mark of the process that has made the last one

} // namespace

void Library::check(Status status, const std::string &what) const {
    if (status != Status::ok)
        throw Error(stretto::Status::system, "UCX cannot " + what + ": " + status_string(status));
}

const Library &library() {
    return loaded.get(load);
}

// Seen with 1.13 on soft RoCE (tests/rdma): an assertion fails when an endpoint is closed of which
// the peer has not answered yet.  Removed by https://github.com/openucx/ucx/pull/8175.
std::string known_fault(std::string_view version) {
    const bool old = version.starts_with("1.12.") || version.starts_with("1.13.");
    return old ? "UCX " + std::string(version) +
                     " aborts a process if a peer fails while they connect over RoCE; install UCX "
                     "1.14 or later, or set STRETTO_TRANSPORT=ucx to use this one"
               : "";
}

std::string used_before_fork() {
    return contexts.load(std::memory_order_relaxed) == 0 ||
                   user.load(std::memory_order_relaxed) == process_mark()
               ? ""
               : "this process was forked from one that uses UCX, and UCX does not work in its "
                 "children; start a new process by exec, or set STRETTO_TRANSPORT to tcp there";
}

void note_contexts(int more) {
    contexts.fetch_add(more, std::memory_order_relaxed);
    user.store(process_mark(), std::memory_order_relaxed);
}

} // namespace stretto::transport::ucp

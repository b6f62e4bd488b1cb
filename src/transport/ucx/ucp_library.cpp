// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucp_library.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <dlfcn.h>

#include "base/lazy.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace stretto::transport::ucp {

namespace {

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
    constexpr const char *name = "libucp.so.0";
    if (void *const shared = dlopen(name, RTLD_NOW | RTLD_NOLOAD))
        return shared;
    const KeptHandlers kept;
    if (void *const own = dlopen(name, RTLD_NOW | RTLD_LOCAL))
        return own;
    const char *const why = dlerror();
    throw Error(stretto::Status::system, std::string("cannot load UCX (") +
                                             (why == nullptr ? "no reason given" : why) + ")" +
                                             kRemedy);
}

template<class Function>
void find(void *from, const char *name, Function &function) {
    void *const found = dlsym(from, name);
    if (found == nullptr)
        throw Error(stretto::Status::system,
                    std::string("libucp.so.0 has no function ") + name + kRemedy);
    static_assert(sizeof(function) == sizeof(found));
    std::memcpy(&function, &found, sizeof found);
}

Library load() {
    void *const from = open_library();
    Library all;
    find(from, "ucp_get_version_string", all.version);
    find(from, "ucs_status_string", all.status_string);
    find(from, "ucp_lib_query", all.query);
    find(from, "ucp_config_read", all.config_read);
    find(from, "ucp_config_modify", all.config_modify);
    find(from, "ucp_config_print", all.config_print);
    find(from, "ucp_config_release", all.config_release);
    find(from, "ucp_init_version", all.init);
    find(from, "ucp_cleanup", all.cleanup);
    find(from, "ucp_worker_create", all.worker_create);
    find(from, "ucp_worker_destroy", all.worker_destroy);
    find(from, "ucp_worker_query", all.worker_query);
    find(from, "ucp_worker_release_address", all.release_address);
    find(from, "ucp_worker_progress", all.worker_progress);
    find(from, "ucp_worker_get_efd", all.worker_get_efd);
    find(from, "ucp_worker_arm", all.worker_arm);
    find(from, "ucp_worker_set_am_recv_handler", all.set_handler);
    find(from, "ucp_ep_create", all.connect);
    find(from, "ucp_ep_close_nbx", all.close);
    find(from, "ucp_ep_flush_nbx", all.flush);
    find(from, "ucp_am_send_nbx", all.send);
    find(from, "ucp_am_recv_data_nbx", all.receive);
    find(from, "ucp_am_data_release", all.release);
    find(from, "ucp_request_check_status", all.request_status);
    find(from, "ucp_request_free", all.request_free);
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

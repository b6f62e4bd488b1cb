// SPDX-License-Identifier: BSD-3-Clause
// The C API: time limits of calls, and interrupts.
#include <cmath>

#include "handles.hpp"

using namespace stretto::api;

namespace {

thread_local std::uint64_t thread_limit_ns = 0;

std::uint64_t checked_limit(double seconds) {
    constexpr double kMostSeconds = 1e9; // 31 years
    require(seconds >= 0 && seconds <= kMostSeconds, "a limit is a time from 0, in seconds");
    stretto::scopes_in_use.store(true, std::memory_order_relaxed);
    return static_cast<std::uint64_t>(std::ceil(seconds * 1e9));
}

// Sets the limit of this thread's calls as long as this object lives.
class Limited {
public:
    explicit Limited(double seconds) { thread_limit_ns = checked_limit(seconds); }
    ~Limited() { thread_limit_ns = before_; }
    Limited(const Limited &) = delete;
    Limited &operator=(const Limited &) = delete;

private:
    const std::uint64_t before_ = thread_limit_ns;
};

} // namespace

void stretto::api::enter_scope(const stretto_comm_s &comm) {
    const std::uint64_t own = comm.limit_ns.load(std::memory_order_relaxed);
    const std::uint64_t limit_ns = thread_limit_ns != 0 ? thread_limit_ns : own;
    call_scope() = {comm.communicator.rank(), limit_ns, limit_ns != 0 ? now_ns() : 0};
}

extern "C" {

stretto_status stretto_set_timeout(stretto_comm comm, double seconds) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->limit_ns.store(checked_limit(seconds), std::memory_order_relaxed);
    });
}

stretto_status stretto_wait_for(stretto_request *request, double seconds) {
    std::optional<Limited> limited;
    const stretto_status status = guarded([&] { limited.emplace(seconds); });
    return status == STRETTO_OK ? stretto_wait(request) : status;
}

stretto_status stretto_set_thread_timeout(double seconds) {
    return guarded([&] { thread_limit_ns = checked_limit(seconds); });
}

void stretto_set_interrupt(stretto_interrupt_function function, void *context) {
    stretto::scopes_in_use.store(true, std::memory_order_relaxed);
    stretto::interrupt() = {function, context};
}

} // extern "C"

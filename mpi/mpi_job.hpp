// SPDX-License-Identifier: BSD-3-Clause
// Stretto's side of MPI_COMM_WORLD, from MPI_Init to MPI_Finalize, and of the communicators that
// are made of it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host.hpp"
#include "kinds.hpp"
#include "report.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// An MPI communicator's side in Stretto.  It is an attribute of the communicator, and ends with it
// and with the last request that was made on it.
struct CommunicatorState : std::enable_shared_from_this<CommunicatorState> {
    ~CommunicatorState();

    Handle comm = 0;
    int rank = 0, size = 1;
    Reason why_not = Reason::by_stretto; // why Stretto runs no calls on it; by_stretto: it does
    // Blocking calls have a communicator of their own, in which the caller's thread alone moves
    // data: so operations of the program run where MPI allows them, and nothing is locked.
    stretto_comm blocking = nullptr;
    stretto_comm overlapping = nullptr; // of nonblocking calls, once there has been one
    bool overlaps = false;              // a nonblocking call has been asked for
    std::uint64_t worth = 0;            // of the calls so far, in ns
    std::array<std::uint64_t, kKinds> calls{};
    std::string failure; // the error that ended Stretto's communicators
};

class MpiJob {
public:
    // Null while Stretto runs no calls: before MPI_Init and after MPI_Finalize, and in a process
    // whose MPI library Stretto does not know or whose ranks do not all have Stretto.
    static MpiJob *active() { return active_.load(std::memory_order_acquire); }
    // After MPI_Init.  A collective; does nothing when it has been called before.
    // `past`: the file of a tool through which the program's calls do not come to Stretto, if any.
    static void start(const std::string &past) noexcept;
    // Before MPI_Finalize.  A collective if there is a report.
    static void finish() noexcept;

    bool takes(Kind kind) const { return (kinds_ >> static_cast<unsigned>(kind) & 1) != 0; }
    bool reports() const { return reports_; }
    Report &report() { return report_; }
    int rank() const { return rank_; }
    int size() const { return size_; }

    // The state of a communicator; null if `comm` is no communicator.  Throws Failure.
    CommunicatorState *state_of(Handle comm);
    // Makes Stretto's communicators for a call of `bytes` bytes, as far as they are missing and the
    // call may wait for other ranks.  Returns the reason if Stretto cannot run the call.  All ranks
    // reach this in the same call.  Throws Failure.
    Reason prepare(CommunicatorState &state, Kind kind, std::size_t bytes);

    // Gathers the bytes at `mine` of each rank of `comm`, by rank.  Throws Failure.
    void gather(Handle comm, const void *mine, void *all, std::size_t bytes) const;
    template<class T>
    std::vector<T> gather(Handle comm, const T &mine, int size) const {
        std::vector<T> all(static_cast<std::size_t>(size));
        gather(comm, &mine, all.data(), sizeof(T));
        return all;
    }

    // Whether there is, or was, a window of one-sided communication (exports_windows.cpp).
    static inline std::atomic<bool> has_windows{false};
    // Moves the library's messages, as the library does while it waits.
    void progress() const;
    // Lets this thread do that while it waits in Stretto.
    void host_this_thread() const;

private:
    MpiJob();
    void check_presence() const;
    void agree_on_settings(const std::string &past);
    bool all_well(Handle comm, int size, bool well) const;
    std::shared_ptr<CommunicatorState> make(Handle comm) const;
    void make_communicator(CommunicatorState &state);
    std::vector<int> ranks_in_world(Handle comm, int size) const;
    double waited() const;
    static int forget(Handle comm, int keyval, void *state, void *job);

    static std::atomic<MpiJob *> active_;
    static inline std::atomic<bool> started_{false};
    static std::atomic<std::uint64_t> generation_; // of communicators that may be remembered

    const MpiLibrary &host_;
    int rank_ = 0, size_ = 1, keyval_ = 0;
    std::uint32_t kinds_ = 0;
    std::uint64_t warmup_ = 0; // ns of work on a communicator before Stretto makes its own for it
    bool reports_ = false;
    Handle group_ = 0;
    CommunicatorState *own_ = nullptr; // MPI_COMM_WORLD's
    std::atomic<int> made_{0};
    std::mutex mutex_;
    std::vector<std::shared_ptr<CommunicatorState>> states_;
    Report report_;
};

} // namespace stretto::mpi

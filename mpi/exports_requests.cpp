// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that wait for requests, of which some may be Stretto's.
#include <unistd.h>

#include "front.hpp"
#include "requests.hpp"

using namespace stretto::mpi;

namespace {

const MpiLibrary &host() {
    return MpiLibrary::get();
}

// When this returns, all of Stretto's requests among them have ended.
int complete_and_clear_all(void *requests, int count) {
    int code = 0;
    for (int i = 0; i < count; ++i)
        if (const int failed = complete_and_clear(requests, static_cast<std::size_t>(i));
            failed != 0)
            code = failed;
    return code;
}

bool any_ours(const void *requests, int count) {
    for (int i = 0; i < count; ++i)
        if (is_ours(host().abi().load(requests, static_cast<std::size_t>(i))))
            return true;
    return false;
}

// Calls `test` until it has an outcome; between two calls it moves Stretto's calls.
template<class Test>
int wait_for_any(const void *requests, int count, Test &&test) {
    for (int looks = 0;; ++looks) {
        (void)advance(requests, count);
        bool over = false;
        if (const int code = test(over); code != 0 || over)
            return code;
        if (looks < 100)
            sched_yield();
        else
            usleep(50);
    }
}

} // namespace

extern "C" {

int PMPI_Wait(void *request, void *status) {
    const int failed = any_pending() ? complete_and_clear_all(request, 1) : 0;
    const int code = host().Wait(request, status);
    return code != 0 ? code : failed;
}

int PMPI_Waitall(int count, void *requests, void *statuses) {
    const int failed = any_pending() ? complete_and_clear_all(requests, count) : 0;
    const int code = host().Waitall(count, requests, statuses);
    return code != 0 ? code : failed;
}

int PMPI_Waitany(int count, void *requests, int *index, void *status) {
    if (!any_pending() || !any_ours(requests, count))
        return host().Waitany(count, requests, index, status);
    return wait_for_any(requests, count, [&](bool &over) {
        int flag = 0;
        const int code = host().Testany(count, requests, index, &flag, status);
        over = flag != 0;
        return code;
    });
}

int PMPI_Waitsome(int count, void *requests, int *ended, int *indices, void *statuses) {
    if (!any_pending() || !any_ours(requests, count))
        return host().Waitsome(count, requests, ended, indices, statuses);
    return wait_for_any(requests, count, [&](bool &over) {
        const int code = host().Testsome(count, requests, ended, indices, statuses);
        over = *ended != 0; // MPI_UNDEFINED: there is nothing to wait for
        return code;
    });
}

int PMPI_Test(void *request, int *flag, void *status) {
    const int failed = any_pending() ? test_and_clear(request) : 0;
    const int code = host().Test(request, flag, status);
    return code != 0 ? code : failed;
}

int PMPI_Testall(int count, void *requests, int *flag, void *statuses) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Testall(count, requests, flag, statuses);
}

int PMPI_Testany(int count, void *requests, int *index, int *flag, void *status) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Testany(count, requests, index, flag, status);
}

int PMPI_Testsome(int count, void *requests, int *ended, int *indices, void *statuses) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Testsome(count, requests, ended, indices, statuses);
}

int PMPI_Request_get_status(Handle request, int *flag, void *status) {
    const Handle clean = host().abi().handle(request);
    if (any_pending())
        (void)advance(&clean, 1);
    return host().Request_get_status(request, flag, status);
}

int PMPI_Request_get_status_all(int count, const void *requests, int *flag, void *statuses) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Request_get_status_all(count, requests, flag, statuses);
}

int PMPI_Request_get_status_any(int count, const void *requests, int *index, int *flag,
                                void *status) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Request_get_status_any(count, requests, index, flag, status);
}

int PMPI_Request_get_status_some(int count, const void *requests, int *ended, int *indices,
                                 void *statuses) {
    if (any_pending())
        (void)advance(requests, count);
    return host().Request_get_status_some(count, requests, ended, indices, statuses);
}

int PMPI_Start(void *request) {
    const int code = host().Start(request);
    return code == 0 && any_pending() ? started(host().abi().load(request, 0)) : code;
}

int PMPI_Startall(int count, void *requests) {
    int code = host().Startall(count, requests);
    if (code == 0 && any_pending())
        for (int i = 0; i < count && code == 0; ++i)
            code = started(host().abi().load(requests, static_cast<std::size_t>(i)));
    return code;
}

int PMPI_Request_free(void *request) {
    const int failed = any_pending() ? release(host().abi().load(request, 0)) : 0;
    const int code = host().Request_free(request);
    return code != 0 ? code : failed;
}

// A collective cannot be cancelled (MPI 4.1, 6.12): the receive behind it must not be.
int PMPI_Cancel(void *request) {
    const Handle handle = host().abi().load(request, 0);
    if (any_pending() && is_ours(handle)) {
        host().Comm_call_errhandler(host().abi().comm_world, host().abi().error_request);
        return host().abi().error_request;
    }
    return host().Cancel(request);
}

} // extern "C"

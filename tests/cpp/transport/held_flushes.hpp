// SPDX-License-Identifier: BSD-3-Clause
// A library of UCX whose flushes end when the test says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "transport/ucx/ucp_library.hpp"

namespace test {

namespace ucp = stretto::transport::ucp;

struct HeldFlush {
    ucp::RequestParameters parameters;
    int request = 0;
};
inline bool hold_flushes = false;
inline std::vector<std::unique_ptr<HeldFlush>> held_flushes; // in the order of their beginnings

inline ucp::Request flush_or_hold(ucp::Endpoint *endpoint,
                                  const ucp::RequestParameters *parameters) {
    if (!hold_flushes)
        return ucp::library().flush(endpoint, parameters);
    held_flushes.push_back(std::make_unique<HeldFlush>());
    held_flushes.back()->parameters = *parameters;
    return &held_flushes.back()->request;
}
inline void free_request(ucp::Request request) {
    if (!std::erase_if(held_flushes, [&](const auto &each) { return &each->request == request; }))
        ucp::library().request_free(request);
}
// The one at this place.
inline void end_flush(ucp::Status status, std::size_t place = 0) {
    HeldFlush &held = *held_flushes[place];
    held.parameters.sent(&held.request, status, held.parameters.user_data);
}
inline const ucp::Library &holding_library() {
    static const ucp::Library holding = [] {
        ucp::Library library = ucp::library();
        library.flush = &flush_or_hold;
        library.request_free = &free_request;
        return library;
    }();
    return holding;
}

} // namespace test

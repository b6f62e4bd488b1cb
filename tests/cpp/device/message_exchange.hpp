// SPDX-License-Identifier: BSD-3-Clause
// Messages of each rank to the next one, of which something is to go wrong in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/message_buffers.hpp"
#include "support/world.hpp"

namespace test {

constexpr int kExchangeRanks = 3;
constexpr std::size_t kLongBytes = 300'001, kShortBytes = 100;

inline Bytes on_device(stretto_comm comm, std::size_t bytes) {
    return Bytes(comm, bytes, false, 3, true);
}

// A long message and a short one to the next rank, and then parts of both sizes to all.
struct Exchange {
    explicit Exchange(stretto_comm made)
        : comm(made), rank(stretto_rank(made)), out(on_device(made, kLongBytes)),
          in(on_device(made, kLongBytes)), short_in(on_device(made, kShortBytes)),
          parts(on_device(made, 3 * kParts)) {
        write(out, rank, right(), 1, kLongBytes);
        sent = out.data(), received = in.data(), received_short = short_in.data();
        all = parts.data();
    }
    int right() const { return (rank + 1) % kExchangeRanks; }
    int left() const { return (rank + 2) % kExchangeRanks; }

    // The status of the first call that fails, with its text.
    stretto_status run(std::string &text) {
        stretto_request requests[3] = {};
        stretto_status first = STRETTO_OK;
        const auto note = [&](stretto_status status) {
            if (first == STRETTO_OK && status != STRETTO_OK) {
                first = status;
                text = stretto_last_error();
            }
        };
        note(stretto_irecv(comm, received, kLongBytes, STRETTO_UINT8, left(), 1, nullptr,
                           &requests[0]));
        note(stretto_irecv(comm, received_short, kShortBytes, STRETTO_UINT8, left(), 2, nullptr,
                           &requests[1]));
        note(stretto_isend(comm, sent, kLongBytes, STRETTO_UINT8, right(), 1, &requests[2]));
        if (first == STRETTO_OK)
            note(stretto_send(comm, sent, kShortBytes, STRETTO_UINT8, right(), 2));
        for (stretto_request &request : requests)
            note(stretto_wait(&request));
        if (first != STRETTO_OK)
            return first;
        const std::size_t counts[] = {kParts, kParts, kParts};
        const std::size_t zero[] = {0, 1, 2};
        note(stretto_alltoallv(comm, sent, counts, zero, all, counts, nullptr, STRETTO_UINT8));
        // A rank that had all it needs before the error has it in its next call.
        if (first == STRETTO_OK)
            note(stretto_barrier(comm));
        return first;
    }
    bool right_data() {
        return holds(in, left(), rank, 1, kLongBytes, kLongBytes) &&
               holds(short_in, left(), rank, 1, kShortBytes, kShortBytes);
    }

    static constexpr std::size_t kParts = 5000;
    stretto_comm comm;
    const int rank;
    Bytes out, in, short_in, parts;
    void *sent = nullptr, *received = nullptr, *received_short = nullptr, *all = nullptr;
};

} // namespace test

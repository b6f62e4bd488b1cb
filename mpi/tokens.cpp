// SPDX-License-Identifier: BSD-3-Clause
#include "tokens.hpp"

#include "failure.hpp"
#include "host.hpp"

namespace stretto::mpi {

namespace {
constexpr int kTags = 1 << 15; // that any library has (MPI 4.1, 9.1.2: MPI_TAG_UB)
} // namespace

Token Tokens::take() {
    const std::lock_guard lock(mutex_);
    if (!unused_.empty()) {
        const Token token = unused_.back();
        unused_.pop_back();
        return token;
    }
    if (comms_.empty() || next_tag_ == kTags) {
        const Host &host = Host::get();
        Handle comm = 0;
        // A duplicate would have the program's attributes too.
        if (host.Comm_split(host.abi().comm_self, 0, 0, &comm) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "the MPI library makes no communicator of one rank");
        comms_.push_back(comm);
        next_tag_ = 0;
    }
    return {comms_.back(), next_tag_++};
}

void Tokens::give_back(Token token) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(token);
}

void Tokens::free_comms() {
    const std::lock_guard lock(mutex_);
    for (Handle &comm : comms_)
        Host::get().Comm_free(&comm);
    comms_.clear();
    unused_.clear();
}

} // namespace stretto::mpi

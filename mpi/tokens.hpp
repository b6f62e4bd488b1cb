// SPDX-License-Identifier: BSD-3-Clause
// What the program's requests stand on: empty messages of this rank to itself.
#pragma once

#include <mutex>
#include <vector>

#include "abi.hpp"

namespace stretto::mpi {

// Where a message goes that ends one request and no other.
struct Token {
    Handle comm = 0;
    int tag = 0;
};

// Tokens that nobody has. They are in communicators of this rank alone, in which the program sends
// nothing.
class Tokens {
public:
    Token take();
    void give_back(Token token);
    void free_comms();

private:
    std::mutex mutex_;
    std::vector<Handle> comms_;
    int next_tag_ = 0;          // the first of the last communicator that nobody has had
    std::vector<Token> unused_; // and have been used
};

} // namespace stretto::mpi

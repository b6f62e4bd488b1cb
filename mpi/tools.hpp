// SPDX-License-Identifier: BSD-3-Clause
// Tools that stand between Stretto and the MPI library: libraries that define MPI_ functions of
// their own and call the PMPI_ functions (profilers, correctness checkers).
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "front.hpp"
#include "kinds.hpp"

namespace stretto::mpi {

// The function of a tool behind Stretto for each of ours; null: there is none.
struct Tools {
    static const Tools &get();

#define STRETTO_DECLARE(name, parameters, arguments) int(*name) parameters = nullptr;
    STRETTO_FRONT_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
    // Whether a tool has any of them.
    static inline std::atomic<bool> any{false};

private:
    Tools();
};

// The file that has this function.
std::string file_of(void *function);

// Whether calls that were passed to a tool came back by their PMPI_ names.
class Passed {
public:
    // `function` is "Allreduce" or "Allreduce_c"; ignores functions that are no collectives.
    static void to_tool(std::string_view function);
    static void came_back(Kind kind) {
        if (Tools::any.load(std::memory_order_relaxed)) [[unlikely]]
            mark(back_, kind);
    }
    // Prints which calls a tool passes to the MPI library past Stretto.
    static void report();

private:
    static void mark(std::atomic<unsigned> &kinds, Kind kind) {
        kinds.fetch_or(1u << static_cast<unsigned>(kind), std::memory_order_relaxed);
    }
    static inline std::atomic<unsigned> passed_{0}, back_{0};
};

} // namespace stretto::mpi

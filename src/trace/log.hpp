// SPDX-License-Identifier: BSD-3-Clause
// Reads a trace: of a running rank, or from the file of a killed one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/format.hpp"

namespace stretto::trace {

struct Log {
    struct Communicator {
        int rank, size;
        std::string name;
    };
    std::string job, host, clock;
    std::uint64_t job_id = 0;
    int rank = 0, ranks = 1, pid = 0;
    std::optional<std::int64_t> offset; // nanoseconds; to add
    std::vector<Communicator> communicators;
    std::vector<Record> records; // in the order in which they were written
    std::uint64_t dropped = 0;   // older ones, overwritten
    std::string names;

    // "" if there is none.
    std::string name(std::uint64_t number) const;
};

// Throws Error(argument) that names `path` if the file is no trace, or only part of one.
Log read_log(std::span<const std::byte> bytes, const std::string &path);
Log read_log(const std::string &path);

} // namespace stretto::trace

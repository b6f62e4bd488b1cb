// SPDX-License-Identifier: BSD-3-Clause
// The use of ports and processors over time, for pictures of too many messages to show one by one.
// A grid: each row is one position or several, each column an equal part of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulate/simulate.hpp"

namespace stretto::simulate {

class Occupancy {
public:
    // Each cell: the share of the column's time, 0 to 1, mean over the positions of the row.
    using Shares = std::vector<float>; // row by row

    // `row_of`: per position.  Throws Error(argument) unless there is one for each and rows are 0
    // to the highest, none empty.
    Occupancy(schedule::Position positions, std::vector<std::uint32_t> row_of, std::size_t columns,
              double makespan);

    void add(const Event &event);

    const Shares &to_reduce() const {
        return to_reduce_;
    } // in-ports, receiving messages that are reduced
    const Shares &as_it_is() const { return as_it_is_; } // in-ports, receiving all others
    const Shares &reducing() const { return reducing_; } // processors

private:
    std::vector<std::uint32_t> row_of_;
    std::size_t columns_;
    double column_;                        // seconds
    std::vector<std::uint32_t> positions_; // per row
    Shares to_reduce_, as_it_is_, reducing_;
};

} // namespace stretto::simulate

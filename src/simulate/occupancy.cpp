// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/occupancy.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::simulate {

Occupancy::Occupancy(schedule::Position positions, std::vector<std::uint32_t> row_of,
                     std::size_t columns, double makespan)
    : row_of_(std::move(row_of)), columns_(columns),
      column_(makespan / static_cast<double>(columns)) {
    if (row_of_.size() != static_cast<std::size_t>(positions))
        throw Error(Status::argument, "rows of " + std::to_string(row_of_.size()) +
                                          " positions, of which there are " +
                                          std::to_string(positions));
    for (const std::uint32_t row : row_of_) {
        if (row >= row_of_.size())
            throw Error(Status::argument, "there is no row " + std::to_string(row) + " for " +
                                              std::to_string(row_of_.size()) + " positions");
        positions_.resize(std::max<std::size_t>(positions_.size(), row + 1));
        ++positions_[row];
    }
    if (std::find(positions_.begin(), positions_.end(), 0U) != positions_.end())
        throw Error(Status::argument, "a row has no position");
    for (Shares *shares : {&to_reduce_, &as_it_is_, &reducing_})
        shares->resize(positions_.size() * columns_);
}

void Occupancy::add(const Event &event) {
    if (event.end <= event.start)
        return;
    const std::uint32_t row = row_of_[static_cast<std::size_t>(event.to)];
    Shares &shares = event.from == event.to ? reducing_ : event.reduces ? to_reduce_ : as_it_is_;
    float *const cells = &shares[row * columns_];
    const double begin = event.start / column_, end = event.end / column_;
    // Rounding may put the last moment a little behind the last column.
    const std::size_t first = std::min(static_cast<std::size_t>(begin), columns_ - 1);
    for (std::size_t at = first; at < columns_ && static_cast<double>(at) < end; ++at) {
        const auto left = static_cast<double>(at);
        const double share = std::min(end, left + 1) - std::max(begin, left);
        cells[at] += static_cast<float>(share / positions_[row]);
    }
}

} // namespace stretto::simulate

// SPDX-License-Identifier: BSD-3-Clause
#include "cost/concurrency.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/status.hpp"

namespace stretto::cost {

namespace {

// The logarithm to base 2 at powers of two, and linear between them.  Ranks choose by what is
// computed here, and must all compute the same bits; the logarithms of C libraries differ.
double octaves(double number) {
    int exponent = 0;
    const double part = std::frexp(number, &exponent); // from 1/2 to 1
    return exponent + 2 * part - 2;
}

// Where a number lies among ascending ones: after element `below`, by this share of the distance to
// the next.
struct Bracket {
    std::size_t below = 0;
    double share = 0; // from 0 to 1; 0: at `below`
};

Bracket bracket(double number, std::size_t length, const std::function<double(std::size_t)> &at) {
    if (number <= at(0))
        return {};
    for (std::size_t i = 1; i < length; ++i)
        if (number < at(i))
            return {i - 1, (number - at(i - 1)) / (at(i) - at(i - 1))};
    return {length - 1, 0};
}

double between(double low, double high, double share) {
    return low + (high - low) * share;
}

void check_measured(const Concurrency &measured, int pairs) {
    if (!measured.measured())
        throw Error(Status::argument, "the concurrency of pairs was not measured; `stretto bench "
                                      "pairs --tuning-file` measures it");
    if (pairs < 1)
        throw Error(Status::argument,
                    "the throughput of " + std::to_string(pairs) + " pairs; there is at least one");
}

Bracket row_of(const Concurrency &measured, std::size_t bytes) {
    return bracket(octaves(static_cast<double>(bytes)), measured.rows.size(), [&](std::size_t i) {
        return octaves(static_cast<double>(measured.rows[i].bytes));
    });
}

// What `of` says of the two rows around these bytes, interpolated.
template<class Of>
double over_rows(const Concurrency &measured, std::size_t bytes, const Of &of) {
    const Bracket row = row_of(measured, bytes);
    const double low = of(measured.rows[row.below]);
    return row.share > 0 ? between(low, of(measured.rows[row.below + 1]), row.share) : low;
}

} // namespace

double relative_throughput(const Concurrency &measured, int pairs, std::size_t bytes) {
    check_measured(measured, pairs);
    const Bracket column = bracket(pairs, measured.pairs.size(), [&](std::size_t i) {
        return static_cast<double>(measured.pairs[i]);
    });
    return over_rows(measured, bytes, [&](const Concurrency::Row &row) {
        const double low = row.relative[column.below];
        return column.share > 0 ? between(low, row.relative[column.below + 1], column.share) : low;
    });
}

double most_throughput(const Concurrency &measured, int pairs, std::size_t bytes) {
    double most = std::max(1.0, relative_throughput(measured, pairs, bytes));
    for (const int fewer : measured.pairs)
        if (fewer < pairs)
            most = std::max(most, relative_throughput(measured, fewer, bytes));
    return most;
}

double throughput(const Concurrency &measured, int pairs, std::size_t bytes) {
    return relative_throughput(measured, pairs, bytes) *
           over_rows(measured, bytes, [](const Concurrency::Row &row) { return row.throughput; });
}

} // namespace stretto::cost

// SPDX-License-Identifier: BSD-3-Clause
// The fields of messages, as bytes.  Numbers are little-endian.  A text is its length in 4 bytes,
// then its bytes.  A set of ranks is its words; their number follows from the size of the job.
//
// Writer and Reader have the same member functions, so that one description of a message does for
// both.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "membership/view.hpp"

namespace stretto::membership {

// Appends fields to `bytes`.
class Writer {
public:
    std::vector<std::byte> bytes;

    template<std::integral Number>
    void number(Number value) {
        auto rest = static_cast<std::make_unsigned_t<Number>>(value);
        for (std::size_t i = 0; i < sizeof(value); ++i) {
            bytes.push_back(static_cast<std::byte>(rest & 0xff));
            if constexpr (sizeof(value) > 1)
                rest = static_cast<std::make_unsigned_t<Number>>(rest >> 8);
        }
    }
    void rank(std::int32_t rank) { number(rank); }
    void status(Status status) { number(static_cast<std::uint32_t>(status)); }
    void set(const RankSet &set) {
        for (const std::uint64_t word : set.words())
            number(word);
    }
    void by_rank(const std::vector<std::int64_t> &values) {
        for (const std::int64_t value : values)
            number(value);
    }
    void text(const std::string &text, std::size_t most) {
        const std::size_t size = std::min(text.size(), most);
        number(static_cast<std::uint32_t>(size));
        const auto *data = reinterpret_cast<const std::byte *>(text.data());
        bytes.insert(bytes.end(), data, data + size);
    }
    template<class Value>
    bool present(const std::optional<Value> &value) {
        number(static_cast<std::uint8_t>(value.has_value()));
        return value.has_value();
    }
    void successor(const View &) {}
    void must(bool, std::string_view) {}
};

// Reads fields from bytes.  After the first error every field is zero or empty.
class Reader {
public:
    Reader(std::span<const std::byte> bytes, int ranks) : rest_(bytes), ranks_(ranks) {}

    std::string_view error = "";
    std::uint32_t epoch = 0; // of the message

    void must(bool holds, std::string_view otherwise) {
        if (!holds && error.empty())
            error = otherwise;
    }
    template<std::integral Number>
    void number(Number &value) {
        value = 0;
        must(rest_.size() >= sizeof(value), "a message that ends too early");
        if (!error.empty())
            return;
        std::make_unsigned_t<Number> sum = 0;
        for (std::size_t i = 0; i < sizeof(value); ++i)
            sum = static_cast<std::make_unsigned_t<Number>>(
                sum | static_cast<std::make_unsigned_t<Number>>(
                          std::to_integer<std::make_unsigned_t<Number>>(rest_[i]) << (8 * i)));
        value = static_cast<Number>(sum);
        rest_ = rest_.subspan(sizeof(value));
    }
    void rank(std::int32_t &rank) {
        number(rank);
        must(rank >= kNoRank && rank < ranks_, "a rank that does not exist");
    }
    void status(Status &status) {
        std::uint32_t value = 0;
        number(value);
        must(value != 0 && value <= static_cast<std::uint32_t>(kLastStatus),
             "a status that is no error");
        if (error.empty())
            status = static_cast<Status>(value);
    }
    void set(RankSet &set) {
        std::vector<std::uint64_t> words(RankSet::word_count(ranks_));
        for (std::uint64_t &word : words)
            number(word);
        set = RankSet::of_words(ranks_, std::move(words));
        must(!set.spills(), "a rank that does not exist");
        must(!set.empty(), "a view without members");
    }
    void by_rank(std::vector<std::int64_t> &values) {
        values.resize(static_cast<std::size_t>(ranks_));
        for (std::int64_t &value : values)
            number(value);
    }
    void text(std::string &text, std::size_t most) {
        std::uint32_t size = 0;
        number(size);
        must(size <= most, "a text that is too long");
        must(size <= rest_.size(), "a message that ends too early");
        if (!error.empty())
            return;
        text.assign(reinterpret_cast<const char *>(rest_.data()), size);
        rest_ = rest_.subspan(size);
    }
    template<class Value>
    bool present(std::optional<Value> &value) {
        std::uint8_t is = 0;
        number(is);
        must(is <= 1, "a field that is neither present nor absent");
        if (is == 1)
            value.emplace();
        return is == 1;
    }
    // The view follows the epoch of the message.
    void successor(const View &view) {
        must(view.epoch != 0 && view.epoch - 1 == epoch, "a view of another epoch");
    }
    void end() { must(rest_.empty(), "bytes after the end of a message"); }

private:
    std::span<const std::byte> rest_;
    int ranks_;
};

} // namespace stretto::membership

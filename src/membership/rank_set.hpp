// SPDX-License-Identifier: BSD-3-Clause
// A set of ranks.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stretto::membership {

class RankSet {
public:
    // Walks through the ranks in ascending order.
    class Iterator {
    public:
        Iterator(const RankSet &set, int at) : set_(&set), at_(at) {}
        int operator*() const { return at_; }
        Iterator &operator++() {
            at_ = set_->next(at_);
            return *this;
        }
        bool operator==(const Iterator &other) const { return at_ == other.at_; }

    private:
        const RankSet *set_;
        int at_;
    };

    RankSet() = default;
    // Empty, of ranks below `ranks`.
    explicit RankSet(int ranks) : ranks_(ranks), words_(word_count(ranks)) {}
    static RankSet all(int ranks) {
        RankSet set(ranks);
        for (int rank = 0; rank < ranks; ++rank)
            set.insert(rank);
        return set;
    }
    // From words of 64 ranks each.  Bits from `ranks` on name no rank: see spills().
    static RankSet of_words(int ranks, std::vector<std::uint64_t> words) {
        RankSet set;
        set.ranks_ = ranks;
        set.words_ = std::move(words);
        return set;
    }
    static constexpr std::size_t word_count(int ranks) {
        return (static_cast<std::size_t>(ranks) + 63) / 64;
    }

    int ranks() const { return ranks_; } // all ranks in the set are below this
    std::span<const std::uint64_t> words() const { return words_; }
    // Whether words that were received name ranks that do not exist.
    bool spills() const {
        return words_.size() != word_count(ranks_) ||
               (ranks_ % 64 != 0 && (words_.back() >> (ranks_ % 64)) != 0);
    }

    bool has(int rank) const {
        return rank >= 0 && rank < ranks_ && (word(rank) >> (rank % 64) & 1) != 0;
    }
    void insert(int rank) { word(rank) |= std::uint64_t{1} << (rank % 64); }
    void erase(int rank) { word(rank) &= ~(std::uint64_t{1} << (rank % 64)); }

    int count() const {
        int sum = 0;
        for (const std::uint64_t each : words_)
            sum += std::popcount(each);
        return sum;
    }
    bool empty() const { return lowest() < 0; }
    int lowest() const { return next(-1); } // -1: there is none
    // The lowest above `rank`, or -1.
    int next(int rank) const {
        const int from = rank + 1;
        for (int base = from / 64 * 64; base < ranks_; base += 64) {
            std::uint64_t rest = word(base);
            if (base < from)
                rest &= ~std::uint64_t{0} << (from % 64);
            if (rest != 0)
                return base + std::countr_zero(rest);
        }
        return -1;
    }

    // Both sets have the same ranks().
    RankSet &operator&=(const RankSet &other) {
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] &= other.words_[i];
        return *this;
    }
    RankSet &operator-=(const RankSet &other) {
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] &= ~other.words_[i];
        return *this;
    }
    friend RankSet operator&(RankSet a, const RankSet &b) { return a &= b; }
    friend RankSet operator-(RankSet a, const RankSet &b) { return a -= b; }
    bool within(const RankSet &other) const { return (*this - other).empty(); }

    Iterator begin() const { return {*this, lowest()}; }
    Iterator end() const { return {*this, -1}; }

    friend auto operator<=>(const RankSet &, const RankSet &) = default;

private:
    std::uint64_t &word(int rank) { return words_[static_cast<std::size_t>(rank) / 64]; }
    std::uint64_t word(int rank) const { return words_[static_cast<std::size_t>(rank) / 64]; }

    int ranks_ = 0;
    std::vector<std::uint64_t> words_;
};

// For messages: "0-3, 5".
std::string to_text(const RankSet &set);

} // namespace stretto::membership

// SPDX-License-Identifier: BSD-3-Clause
// A hash table by numbers of 64 bits that allocates a few times in all, not once for each entry:
// proofs and plans fill tables with a hundred thousand cells and drop them again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stretto {

// Entries stay in the order in which they came, so a walk over them is the same on every rank, and
// none is ever taken out.  References to values hold until the next entry comes.
//
//   places    3  .  1  .  .  2  .  4      number of the entry, found by the key's hash and, where
//                                         another has its place, the next ones
//   entries   (key, value) (key, value) (key, value) (key, value)
template<class Value>
class NumberMap {
public:
    struct Entry {
        std::uint64_t key;
        Value value;
    };

    // nullptr if there is none.
    const Value *find(std::uint64_t key) const {
        if (places_.empty())
            return nullptr;
        const std::uint32_t number = places_[place_of(key)];
        return number == kNone ? nullptr : &entries_[number - 1].value;
    }

    // The value, and whether it is new: made of `arguments`.
    template<class... Arguments>
    std::pair<Value &, bool> try_emplace(std::uint64_t key, Arguments &&...arguments) {
        if (2 * (entries_.size() + 1) > places_.size())
            grow();
        std::uint32_t &number = places_[place_of(key)];
        const bool fresh = number == kNone;
        if (fresh) {
            entries_.push_back(Entry{key, Value{std::forward<Arguments>(arguments)...}});
            number = static_cast<std::uint32_t>(entries_.size());
        }
        return {entries_[number - 1].value, fresh};
    }
    Value &operator[](std::uint64_t key) { return try_emplace(key).first; }

    const std::vector<Entry> &entries() const { return entries_; }

private:
    static constexpr std::uint32_t kNone = 0;

    // Where the key is, or would be: at most half of the places are taken.
    std::size_t place_of(std::uint64_t key) const {
        // By Fibonacci hashing: neighbours are spread, and the high bits of the product depend on
        // all bits of the key.
        constexpr std::uint64_t spread = 0x9e3779b97f4a7c15; // 2^64 divided by the golden ratio
        const std::size_t mask = places_.size() - 1;
        auto place = static_cast<std::size_t>(key * spread >> shift_);
        while (places_[place] != kNone && entries_[places_[place] - 1].key != key)
            place = (place + 1) & mask;
        return place;
    }

    void grow() {
        constexpr std::size_t least = 16;
        const std::size_t size = places_.empty() ? least : 2 * places_.size();
        places_.assign(size, kNone);
        shift_ = 64 - std::countr_zero(size);
        for (std::size_t i = 0; i < entries_.size(); ++i)
            places_[place_of(entries_[i].key)] = static_cast<std::uint32_t>(i + 1);
    }

    std::vector<std::uint32_t> places_; // a power of two
    std::vector<Entry> entries_;
    int shift_ = 0; // from a hash to a place
};

} // namespace stretto

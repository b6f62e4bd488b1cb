// SPDX-License-Identifier: BSD-3-Clause
// A vector whose first elements are in the object itself.  Compiling a plan makes a hundred
// thousand tiny lists; allocating each takes longer than all else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace stretto {

template<class T, std::size_t Inline>
class InlineVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    InlineVector() = default;
    InlineVector(std::initializer_list<T> list) { insert(list.begin(), list.end()); }
    InlineVector(const InlineVector &other) { insert(other.begin(), other.end()); }
    InlineVector(InlineVector &&other) noexcept { take(other); }
    InlineVector &operator=(const InlineVector &other) {
        if (this != &other) {
            size_ = 0;
            insert(other.begin(), other.end());
        }
        return *this;
    }
    InlineVector &operator=(InlineVector &&other) noexcept {
        if (this != &other)
            take(other);
        return *this;
    }

    T *data() { return many_ ? many_.get() : few_; }
    const T *data() const { return many_ ? many_.get() : few_; }
    T *begin() { return data(); }
    T *end() { return data() + size_; }
    const T *begin() const { return data(); }
    const T *end() const { return data() + size_; }
    T &operator[](std::size_t i) { return data()[i]; }
    const T &operator[](std::size_t i) const { return data()[i]; }
    T &back() { return data()[size_ - 1]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear() { size_ = 0; }

    void reserve(std::size_t capacity) {
        if (capacity > capacity_)
            grow(capacity);
    }
    void push_back(const T &value) {
        const T copy = value; // it may be an element
        if (size_ == capacity_)
            grow(size_ + 1);
        data()[size_++] = copy;
    }
    // At the end; not from this vector.
    template<class Iterator>
    void insert(Iterator first, Iterator last) {
        const auto more = static_cast<std::size_t>(last - first);
        if (size_ + more > capacity_)
            grow(size_ + more);
        std::copy(first, last, end());
        size_ += static_cast<std::uint32_t>(more);
    }
    void assign(std::size_t count, const T &value) {
        size_ = 0;
        if (count > capacity_)
            grow(count);
        std::fill(data(), data() + count, value);
        size_ = static_cast<std::uint32_t>(count);
    }
    // Drops the elements from `first` on.
    void truncate(const T *first) { size_ = static_cast<std::uint32_t>(first - begin()); }

private:
    void grow(std::size_t least) {
        const std::size_t capacity = std::max<std::size_t>(least, 2 * std::size_t{capacity_});
        auto larger = std::make_unique_for_overwrite<T[]>(capacity);
        if (many_)
            std::copy(many_.get(), many_.get() + size_, larger.get());
        else
            copy_few(larger.get());
        many_ = std::move(larger);
        capacity_ = static_cast<std::uint32_t>(capacity);
    }

    // The elements that are kept in the object.  From GCC 13 on, the compiler warns if it does not
    // see that they fit.
    void copy_few(T *to) const { std::copy(few_, few_ + std::min<std::size_t>(size_, Inline), to); }

    void take(InlineVector &other) {
        if (other.many_ == nullptr) {
            other.copy_few(data());
            size_ = other.size_;
        } else {
            many_ = std::move(other.many_);
            size_ = other.size_;
            capacity_ = other.capacity_;
        }
        other.size_ = 0;
        other.capacity_ = other.many_ ? other.capacity_ : Inline;
    }

    std::unique_ptr<T[]> many_; // null: they are few
    std::uint32_t size_ = 0, capacity_ = Inline;
    T few_[Inline];
};

} // namespace stretto

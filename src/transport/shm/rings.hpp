// SPDX-License-Identifier: BSD-3-Clause
// Address space for the rings of several ranks.
//
// Each rank has two rings, for its cells and for payloads too long to lie in a cell; each is mapped
// twice in a row, so that no cell in it wraps.
#pragma once

#include <cstddef>

namespace stretto::transport {

class Rings {
public:
    static constexpr std::size_t kViews = 2; // of each ring, one behind the other

    // Reserves the address space and maps nothing.  Throws Error if there is none.
    Rings(std::size_t ring_bytes, std::size_t ranks);
    ~Rings();
    Rings(const Rings &) = delete;
    Rings &operator=(const Rings &) = delete;

    std::byte *cells(std::size_t place) const { return first_ + kViews * 2 * ring_bytes_ * place; }
    std::byte *bulk(std::size_t place) const { return bulk(cells(place), ring_bytes_); }
    static std::byte *bulk(std::byte *cells, std::size_t ring_bytes) {
        return cells + kViews * ring_bytes;
    }

    // Maps a part of a file as one of them.  Throws Error.
    void map(std::byte *ring, int file, std::size_t offset) const;
    // Maps all of them, the two of a rank one after the other in the file.  Throws Error.
    void map_pairs(int file, std::size_t offset) const;

private:
    const std::size_t ring_bytes_, bytes_;
    std::byte *first_;
};

} // namespace stretto::transport

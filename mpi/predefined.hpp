// SPDX-License-Identifier: BSD-3-Clause
// The datatypes and operations that MPI defines: their handles in each binary interface, and their
// names in Stretto.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "host.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

// MPI 4.1, section 6.9.2: which operations are for which types.
enum class Class : std::uint8_t {
    integer,       // C integers
    other_integer, // of Fortran, and types of several languages
    floating,
    complex,
    logical,
    byte,
    pair,   // a value and its index
    opaque, // characters: they can only be moved
};

struct Predefined {
    const char *name = "";
    Class what = Class::opaque;
    std::size_t size = 0;                    // bytes of its data
    std::size_t extent = 0;                  // from one element to the next; a pair may have a gap
    std::optional<stretto_dtype> dtype = {}; // if Stretto reduces the type itself
};

struct PredefinedOp {
    const char *name = "";
    std::optional<stretto_op> op = {}; // none for operations of pairs
    std::array<bool, 8> of{};          // by Class
};

class Names {
public:
    // The handles of the library of this process.
    static Names &get();

    // Null if MPI does not define it.
    const Predefined *datatype(Handle handle) {
        for (std::size_t at = slot(handle); entries_[at].row != nullptr; at = (at + 1) % kEntries) {
            Entry &entry = entries_[at];
            if (entry.handle != handle)
                continue;
            if (!entry.measured.load(std::memory_order_acquire)) [[unlikely]]
                measure(entry);
            return &entry.datatype;
        }
        return nullptr;
    }
    const PredefinedOp *op(Handle handle) const {
        for (const OpEntry &entry : ops_)
            if (entry.handle == handle)
                return &entry.op;
        return nullptr;
    }

private:
    static constexpr std::size_t kEntries = 256;
    struct Row;
    struct OpRow;
    struct Entry {
        Handle handle = 0;
        const Row *row = nullptr; // null: it is empty
        // The library is asked for the size when the program first uses the type: not every library
        // has them all.
        std::atomic<bool> measured{false};
        Predefined datatype;
    };
    struct OpEntry {
        Handle handle;
        PredefinedOp op;
    };

    explicit Names(const MpiLibrary &host);
    void measure(Entry &entry);
    static std::optional<stretto_dtype> dtype_of(const Row &row, std::size_t size);
    template<class AnyRow>
    Handle handle_of(const AnyRow &row) const;
    static const Row kRows[];
    static const OpRow kOpRows[];
    static std::size_t slot(Handle handle) {
        return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15u >> 56);
    }

    const MpiLibrary &host_;
    std::mutex mutex_;
    std::array<Entry, kEntries> entries_{};
    std::vector<OpEntry> ops_;
};

} // namespace stretto::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The order of accesses to one piece of memory: a read waits for the last write, a write waits for
// the reads since then.  The rule is defined here alone.  Its callers define a piece (a block of a
// slot, a slice of it, an interval of bytes) and the accesses (of ops, pieces of ops, passes).
//
//   op 0  reads                    readers 0
//   op 1  writes, in group 1       base 0, writers 1
//   op 2  writes, in group 1       base 0, writers 1 2     (does not wait for op 1)
//   op 3  reads                    waits for 1 and 2
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// `List`: a vector of accesses, by number.
template<class List>
class Hazards {
public:
    // Calls wait(earlier) for every access that `reader` has to wait for.  Accesses are added in
    // the order of the program.
    template<class Id, class Wait>
    void read(Id reader, Wait &&wait) {
        each(writers_, reader, wait);
        if (readers_.empty() || readers_.back() != reader)
            readers_.push_back(reader);
    }

    // The same for a writer, which may read the piece as well.  Writers of one group (not 0) that
    // have no read between them wait for the same accesses, and not for one another.
    template<class Id, class Wait>
    void write(Id writer, std::int32_t group, Wait &&wait) {
        const bool joins = group > 0 && group == group_ && readers_.empty();
        if (!joins) {
            // The readers wait for the writers, so it is enough to wait for the readers.
            base_ = std::move(readers_.empty() ? writers_ : readers_);
            writers_.clear();
            readers_.clear();
            group_ = group;
        }
        each(base_, writer, wait);
        writers_.push_back(writer);
    }

    const List &writers() const { return writers_; } // the last of them
    const List &readers() const { return readers_; } // since the last write

    void clear() {
        writers_.clear();
        readers_.clear();
        base_.clear();
        group_ = 0;
    }

private:
    template<class Id, class Wait>
    static void each(const List &earlier, Id later, Wait &wait) {
        for (const Id id : earlier)
            if (id != later)
                wait(id);
    }

    List writers_;           // the last that wrote it, or all so far of the last group
    List readers_;           // since then
    List base_;              // the accesses that each of the writers waited for
    std::int32_t group_ = 0; // of the writers
};

// Windows: receive i waits for receive i - window, send j for send j - window.
class OpenOps {
public:
    explicit OpenOps(Window open = {}) : open_(open) {}

    // The op that op `index` has to wait for; -1: none.
    std::int32_t issue(OpKind kind, std::int32_t index) {
        if (kind == OpKind::recv)
            return issue(recvs_, open_.recv, index);
        return kind == OpKind::send ? issue(sends_, open_.send, index) : -1;
    }

private:
    static std::int32_t issue(std::vector<std::int32_t> &issued, std::int32_t size,
                              std::int32_t index) {
        issued.push_back(index);
        const auto open = static_cast<std::size_t>(size);
        return size > 0 && issued.size() > open ? issued[issued.size() - 1 - open] : -1;
    }

    Window open_;
    std::vector<std::int32_t> recvs_, sends_;
};

} // namespace stretto::schedule

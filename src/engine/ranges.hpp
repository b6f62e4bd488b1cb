// SPDX-License-Identifier: BSD-3-Clause
// Finds the hazards between the passes of one position: which passes wrote and read which bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/lower.hpp"
#include "schedule/hazards.hpp"

namespace stretto::engine {

// An interval map over one space of memory, by passes.
class Ranges {
public:
    using State = schedule::Hazards<PassIndices>;

    // Calls visit(State &, bytes) for each piece of [offset, offset + length), cutting pieces at
    // its ends.
    template<class Visit>
    void visit(std::size_t offset, std::size_t length, Visit &&visit) {
        if (length == 0)
            return;
        cut(offset);
        cut(offset + length);
        for (auto piece = pieces_.find(offset);
             piece != pieces_.end() && piece->first < offset + length;) {
            const auto here = piece++;
            visit(here->second,
                  (piece == pieces_.end() ? offset + length : piece->first) - here->first);
        }
    }

    void read(std::size_t offset, std::size_t length, std::int32_t reader, PassIndices &after) {
        visit(offset, length, [&](State &state, std::size_t) {
            state.read(reader, [&](std::int32_t earlier) { after.push_back(earlier); });
        });
    }

    // Calls overwritten(pass, bytes) for what passes have written there before.
    template<class Overwritten>
    void write(std::size_t offset, std::size_t length, std::int32_t writer, PassIndices &after,
               Overwritten &&overwritten) {
        visit(offset, length, [&](State &state, std::size_t bytes) {
            for (const std::int32_t earlier : state.writers())
                overwritten(earlier, bytes);
            state.write(writer, 0, [&](std::int32_t earlier) { after.push_back(earlier); });
        });
    }

    // The pass that wrote the whole range, or -1; and whether no pass has read any of it since.
    std::int32_t sole_writer(std::size_t offset, std::size_t length, bool &unread) {
        std::int32_t writer = -2;
        unread = true;
        visit(offset, length, [&](State &state, std::size_t) {
            const std::int32_t its = state.writers().empty() ? -1 : state.writers()[0];
            writer = writer == -2 || writer == its ? its : -1;
            unread = unread && state.readers().empty();
        });
        return writer;
    }

private:
    void cut(std::size_t at) {
        auto next = pieces_.upper_bound(at);
        if (next == pieces_.begin()) {
            pieces_.emplace(at, State{});
            return;
        }
        const auto piece = std::prev(next);
        if (piece->first != at)
            pieces_.emplace_hint(next, at, piece->second);
    }

    std::map<std::size_t, State> pieces_; // start -> state, up to the next start
};

} // namespace stretto::engine

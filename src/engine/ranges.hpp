// SPDX-License-Identifier: BSD-3-Clause
// Who wrote and who reads which bytes: the hazards between the passes of one position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/lower.hpp"

namespace stretto::engine {

// An interval map over one space of memory.  Each interval knows the pass that wrote it last and
// the passes that have read it since.
class Ranges {
public:
    struct State {
        std::int32_t writer = -1;
        PassIndices readers;
    };

    // Calls visit(State &) for each piece of [offset, offset + length), cutting pieces at its ends.
    template<class Visit>
    void visit(std::size_t offset, std::size_t length, Visit &&visit) {
        if (length == 0)
            return;
        cut(offset);
        cut(offset + length);
        for (auto piece = pieces_.find(offset);
             piece != pieces_.end() && piece->first < offset + length; ++piece)
            visit(piece->second);
    }

    // Pass `reader` reads: it comes after the writer.
    void read(std::size_t offset, std::size_t length, std::int32_t reader, PassIndices &after) {
        visit(offset, length, [&](State &state) {
            if (state.writer >= 0 && state.writer != reader)
                after.push_back(state.writer);
            if (std::find(state.readers.begin(), state.readers.end(), reader) ==
                state.readers.end())
                state.readers.push_back(reader);
        });
    }

    // Pass `writer` writes: it comes after the last writer and all readers since.
    void write(std::size_t offset, std::size_t length, std::int32_t writer, PassIndices &after) {
        visit(offset, length, [&](State &state) {
            if (state.writer >= 0 && state.writer != writer)
                after.push_back(state.writer);
            for (const std::int32_t reader : state.readers)
                if (reader != writer)
                    after.push_back(reader);
            state.writer = writer;
            state.readers.clear();
        });
    }

    // The pass that wrote the whole range, or -1; and whether nobody has read any of it since.
    std::int32_t sole_writer(std::size_t offset, std::size_t length, bool &unread) {
        std::int32_t writer = -2;
        unread = true;
        visit(offset, length, [&](State &state) {
            writer = writer == -2 || writer == state.writer ? state.writer : -1;
            unread = unread && state.readers.empty();
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

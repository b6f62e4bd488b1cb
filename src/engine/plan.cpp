// SPDX-License-Identifier: BSD-3-Clause
#include "engine/plan.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/mix.hpp"
#include "engine/run.hpp"

namespace stretto::engine {

Plan::Plan(const PlanLists &lists) {
    std::size_t bytes = 0;
    const auto each = [&](auto &&visit) {
        visit(steps, lists.steps);
        visit(operands, lists.operands);
        visit(readers, lists.readers);
        visit(cell_bytes, lists.cell_bytes);
        visit(cells, lists.cells);
        visit(before, lists.before);
        visit(parts, lists.parts);
    };
    // All elements but those of the last two lists are multiples of 8 bytes.
    each([&](auto &, const auto &list) { bytes += list.size() * sizeof(list[0]); });
    memory_.resize((bytes + sizeof(Line) - 1) / sizeof(Line));
    auto *next = reinterpret_cast<std::byte *>(memory_.data());
    each([&]<class T>(std::span<const T> &view, const std::vector<T> &list) {
        static_assert(std::is_trivially_copyable_v<T> &&
                      (sizeof(T) % 8 == 0 || std::is_same_v<T, std::uint32_t>));
        std::copy(list.begin(), list.end(), reinterpret_cast<T *>(next));
        view = {reinterpret_cast<const T *>(next), list.size()};
        next += list.size() * sizeof(T);
    });
}

std::size_t Plan::footprint() const {
    const std::size_t own = sizeof(Plan) + memory_.size() * sizeof(Line);
    return tiles ? own + sizeof(Tiles) + tiles->cell_bytes.size() * sizeof(std::uint64_t) +
                       tiles->last->footprint()
                 : own;
}

std::uint16_t algorithm_code(std::string_view algorithm) {
    const std::string_view name = algorithm.substr(0, algorithm.find('('));
    const std::uint64_t parameters = mix(algorithm.substr(name.size()));
    // Never 0.
    return static_cast<std::uint16_t>((1 + mix(name) % 1023) << 6 | (parameters & 63));
}

// Names are cut before values are: "late=1,segment=4" of "late_last(late=1, segments=4)".
transport::Letters parameters_in(std::string_view algorithm) {
    transport::Letters letters{};
    const std::size_t begin = std::min(algorithm.find('('), algorithm.size());
    std::string text;
    for (std::size_t most = sizeof letters; most > 0; --most) {
        text.clear();
        bool in_name = true;
        std::size_t length = 0; // of the name
        for (const char c : algorithm.substr(std::min(begin + 1, algorithm.size()))) {
            in_name = c == ',' || (in_name && c != '=');
            length = in_name && c != ',' && c != ' ' ? length + 1 : 0;
            if (length <= most && c != ' ' && c != ')')
                text += c;
        }
        if (text.size() <= sizeof letters)
            break;
    }
    text.resize(std::min(text.size(), sizeof letters));
    std::memcpy(letters.data(), text.data(), text.size());
    return letters;
}

std::string text_of(const transport::Letters &parameters) {
    char text[sizeof parameters + 1] = "";
    std::memcpy(text, parameters.data(), sizeof parameters);
    return text;
}

} // namespace stretto::engine

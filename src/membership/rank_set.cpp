// SPDX-License-Identifier: BSD-3-Clause
#include "membership/rank_set.hpp"

namespace stretto::membership {

std::string to_text(const RankSet &set) {
    std::string text;
    for (int first = set.lowest(); first >= 0;) {
        int last = first;
        while (set.has(last + 1))
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(first);
        if (last > first)
            text += (last == first + 1 ? ", " : "-") + std::to_string(last);
        first = set.next(last);
    }
    return text.empty() ? "none" : text;
}

} // namespace stretto::membership

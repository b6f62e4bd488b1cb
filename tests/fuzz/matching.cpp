// SPDX-License-Identifier: BSD-3-Clause
// Matching: any sequence of operations, with changes of the scheme, gives what the model gives.
#include "fuzz.hpp"
#include "support/beside_model.hpp"

using namespace stretto::p2p;
using stretto::fuzz::must;

namespace {

class Input {
public:
    Input(const std::uint8_t *data, std::size_t size) : next_(data), end_(data + size) {}
    bool more() const { return next_ != end_; }
    unsigned byte() { return more() ? *next_++ : 0; }

private:
    const std::uint8_t *next_, *end_;
};

// 2 bits of context, 3 of source, 3 of tag; in a receive, the highest source and tag are any.
Envelope envelope(unsigned byte, bool receive) {
    const auto part = [&](unsigned bits) {
        return receive && bits == 7 ? kAny : static_cast<int>(bits);
    };
    return {byte >> 6, part(byte >> 3 & 7), part(byte & 7)};
}

} // namespace

// The first three bytes are options; each operation takes two.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input input(data, size);
    MatchingOptions options;
    const unsigned first = input.byte();
    if (first % 5 != 0)
        options.fixed = kSchemes[first % 5 - 1];
    options.most_orders = first >= 128 ? first - 120 : UINT32_MAX;
    options.calls = 1 + input.byte() % 16;
    options.attempts = input.byte() % 8;
    options.ranks = 8;
    test::MatcherBesideModel both(options);
    while (input.more()) {
        const unsigned operation = input.byte(), value = input.byte();
        const auto queue = static_cast<Matcher::Queue>(operation >> 3 & 1);
        switch (operation % 8) {
        case 0:
        case 1: must(both.post(envelope(value, true)), "a receive takes what it should"); break;
        case 2:
        case 3: must(both.arrive(envelope(value, false)), "a message is taken as it should"); break;
        case 4: must(both.find(envelope(value, true)), "a probe sees what it should"); break;
        case 5: must(both.withdraw(value), "a receive can be withdrawn"); break;
        case 6: must(both.take_oldest(queue), "the oldest is the oldest"); break;
        case 7:
            must(both.convert(queue, kSchemes[operation >> 4 & 3], 1 + value % 16),
                 "a queue changes its scheme");
            break;
        }
    }
    must(both.drain(), "everything that waits is there, in order");
    return 0;
}

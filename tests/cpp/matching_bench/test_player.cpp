// SPDX-License-Identifier: BSD-3-Clause
// The player: each scheme plays each pattern as MPI demands, and a wrong result is found.
#include "doctest.h"

#include <memory>
#include <optional>

#include "matching/patterns.hpp"
#include "matching/player.hpp"

using namespace stretto::matching;
using namespace stretto::p2p;

namespace {

std::unique_ptr<Matcher> make_list() {
    MatchingOptions options;
    options.fixed = Scheme::list;
    return make_matcher(options);
}

// A list that once says that no receive takes a message, though one does.
class Liar final : public Matcher {
public:
    explicit Liar(int lie_at) : until_lie_(lie_at) {}
    ArrivedMessage *post(PostedReceive &receive) override { return right_->post(receive); }
    PostedReceive *arrive(ArrivedMessage &message) override {
        PostedReceive *receive = right_->arrive(message);
        return receive != nullptr && until_lie_-- == 0 ? nullptr : receive;
    }
    ArrivedMessage *find(const Envelope &wanted) override { return right_->find(wanted); }
    void withdraw(PostedReceive &receive) override { right_->withdraw(receive); }
    PostedReceive *drain_receives() override { return right_->drain_receives(); }
    ArrivedMessage *drain_messages() override { return right_->drain_messages(); }
    bool convert(Queue queue, Scheme scheme, std::size_t chains) override {
        return right_->convert(queue, scheme, chains);
    }
    QueueState state(Queue queue) const override { return right_->state(queue); }
    std::size_t bytes() const override { return right_->bytes(); }

private:
    const std::unique_ptr<Matcher> right_ = make_list();
    int until_lie_;
};

} // namespace

TEST_CASE("all schemes play all patterns as MPI demands") {
    for (const Pattern &pattern : patterns())
        for (const int peers : {1, 3, 26, 70}) {
            const Sequence sequence = make_sequence(std::string(pattern.name), {peers, 2, 1000, 1});
            Player player(sequence);
            for (std::size_t i = 0; i <= kSchemes.size(); ++i) {
                MatchingOptions options;
                options.ranks = peers + 1;
                if (i < kSchemes.size())
                    options.fixed = kSchemes[i];
                CAPTURE(pattern.name);
                CAPTURE(peers);
                CAPTURE(i);
                const Checked checked = player.check(*make_matcher(options));
                CHECK(checked.wrong == 0);
                CHECK(checked.effort.searches >= sequence.operations.size() / 2);
                const Timed timed = player.time(*make_matcher(options));
                CHECK(timed.wrong == 0);
                CHECK(timed.ns.size() == 64);
                const Tail tail = player.time_each(*make_matcher(options));
                CHECK(tail.wrong == 0);
                CHECK(tail.p50_ns <= tail.p99_ns);
            }
        }
}

TEST_CASE("a sequence of few operations has few parts") {
    const Sequence sequence = make_sequence("in-order", {1, 1, 1, 1});
    CHECK(Player(sequence).time(*make_list()).ns.size() == 4);
}

TEST_CASE("a list looks at as many receives as the pattern promises") {
    const auto looks = [](const char *pattern, int peers) {
        const Sequence sequence = make_sequence(pattern, {peers, 1, 1, 1});
        return Player(sequence).check(*make_list()).effort.looks;
    };
    CHECK(looks("in-order", 100) == 2 * 100);
    CHECK(looks("reverse", 100) == 2 * 100 * 101 / 2);
    // 99 receives of others behind 100: each of their messages looks at 100 and more.
    CHECK(looks("hot-tag", 100) >= 2 * (99 * 101 + 100));
}

TEST_CASE("a wrong result is found, checked or timed") {
    for (const char *pattern : {"random", "grow-shrink"}) {
        const Sequence sequence = make_sequence(pattern, {20, 1, 100, 1});
        Player player(sequence);
        for (const int lie_at : {0, 7, 99}) {
            Liar first(lie_at), second(lie_at), third(lie_at);
            CHECK(player.check(first).wrong == 1);
            CHECK(player.time(second).wrong == 1);
            CHECK(player.time_each(third).wrong == 1);
        }
    }
}

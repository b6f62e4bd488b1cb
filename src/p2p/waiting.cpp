// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a message.
#include "p2p/messenger.hpp"

#include "base/clock.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::p2p {

// One wait, from its beginning to its end.
class Messenger::Waiting : public transport::Waitable {
public:
    explicit Waiting(Messenger &messenger) : messenger_(messenger) {}

    // Returns when over(); throws an error that has ended the communicator.
    void complete() {
        std::uint64_t looked = quiet_since_;
        {
            const std::lock_guard lock(messenger_.mutex_);
            messenger_.progress_thread_.enter();
        }
        try {
            while (!over()) {
                transport::wait(*messenger_.segment_, messenger_.rank_, *this,
                                transport::caller(messenger_.options_.spin_ns));
                messenger_.notices_.deliver();
                // Another thread's progress wakes this one too, though its own wait goes on.  So
                // the time for a diagnosis is counted here.
                if (const std::uint64_t now = now_ns(); now - looked > kLookNs) {
                    looked = now;
                    if (!over())
                        diagnose(0);
                }
            }
        } catch (...) {
            const Error error = engine::post_exception(*messenger_.segment_, messenger_.rank_,
                                                       messenger_.exhausted_);
            const std::lock_guard lock(messenger_.mutex_);
            messenger_.progress_thread_.leave();
            messenger_.abandon_all(error);
            throw error;
        }
        if (diagnosed_)
            messenger_.publish_wait_state(transport::WaitState::nowhere, kAny);
        const std::lock_guard lock(messenger_.mutex_);
        messenger_.progress_thread_.leave();
    }

    std::uint64_t longest_nap() const override { return messenger_.longest_nap(); }
    void diagnose(std::uint64_t) override {
        diagnosed_ = true;
        const std::uint64_t now = now_ns();
        if (const std::uint64_t moved = progress(); moved != moved_) {
            moved_ = moved;
            quiet_since_ = now;
        }
        look(now - quiet_since_);
        messenger_.diagnose_orders(); // the progress thread leaves that to callers
    }

protected:
    virtual bool over() = 0;
    virtual std::uint64_t progress() = 0; // bytes so far
    virtual void look(std::uint64_t quiet_ns) = 0;

    Messenger &messenger_;

private:
    static constexpr std::uint64_t kLookNs = 50'000'000;

    std::uint64_t quiet_since_ = now_ns();
    std::uint64_t moved_ = 0;
    bool diagnosed_ = false;
};

void Messenger::wait(Transfer &transfer) {
    class ForTransfer final : public Waiting {
    public:
        ForTransfer(Messenger &messenger, Transfer &transfer)
            : Waiting(messenger), transfer_(transfer) {}
        bool attempt() override { return transfer_.ended() || messenger_.progress() || over(); }
        bool over() override { return transfer_.ended(); }
        std::uint64_t progress() override {
            const std::lock_guard lock(messenger_.mutex_);
            return transfer_.moved;
        }
        void look(std::uint64_t quiet_ns) override { messenger_.diagnose(transfer_, quiet_ns); }

    private:
        Transfer &transfer_;
    };
    if (transfer.ended())
        return;
    try {
        ForTransfer(*this, transfer).complete();
    } catch (const Error &) {
        // The transfer has the same error, unless it had ended before.
        std::unique_lock lock(mutex_);
        await_copies(lock);
    }
}

// Until a list of the messenger's is empty.
template<class List, class Look>
class Messenger::Emptying final : public Waiting {
public:
    Emptying(Messenger &messenger, const List &list, const Look &look)
        : Waiting(messenger), list_(list), look_(look) {}
    bool attempt() override {
        messenger_.poll_executors();
        const std::lock_guard lock(messenger_.mutex_);
        return messenger_.advance() || list_.empty();
    }
    bool over() override {
        const std::lock_guard lock(messenger_.mutex_);
        return list_.empty();
    }
    std::uint64_t progress() override { return 0; }
    void look(std::uint64_t) override { look_(); }

private:
    const List &list_;
    const Look &look_;
};

void Messenger::close() {
    const auto look = [this] {
        const std::lock_guard lock(mutex_);
        for (const int rank : listed_)
            if (segment_->presence(rank) != transport::Presence::here)
                peer(rank).answers.clear();
        flush_all();
    };
    try {
        Emptying(*this, listed_, look).complete();
    } catch (const Error &) {
        // The communicator has failed: no rank receives any more.
    }
}

void Messenger::wait_for_orders() {
    finishing_ = true;
    const auto look = [] {}; // at each message that is left, as all do that wait
    try {
        Emptying(*this, orders_, look).complete();
    } catch (const Error &) { // all have ended with it
        std::unique_lock lock(mutex_);
        await_copies(lock);
    }
}

std::optional<Taken> Messenger::probe(int source, int tag) {
    constexpr std::uint64_t kLookNs = 10 * transport::kSuspiciousNs;
    receive_from_hosts();
    poll_executors();
    {
        const std::lock_guard lock(mutex_);
        check_alive();
        advance();
        check_alive();
        const std::optional<Taken> found = find(source, tag);
        const std::uint64_t now = now_ns();
        if (found || now - probed_ < kLookNs)
            return found;
        probed_ = now;
    }
    check_sources_live(source, tag);
    return std::nullopt;
}

std::optional<Taken> Messenger::find(int source, int tag) {
    const ArrivedMessage *message = matcher_->find({kUser, source, tag});
    if (message == nullptr)
        return std::nullopt;
    return Taken{message->envelope.source, message->envelope.tag,
                 static_cast<const Arrived *>(message)->frame.bytes};
}

Taken Messenger::wait_for(int source, int tag) {
    class ForMessage final : public Waiting {
    public:
        ForMessage(Messenger &messenger, int source, int tag)
            : Waiting(messenger), source_(source), tag_(tag) {}
        bool attempt() override {
            messenger_.poll_executors();
            const std::lock_guard lock(messenger_.mutex_);
            const bool moved = messenger_.advance();
            return found_now() || moved;
        }
        bool over() override {
            const std::lock_guard lock(messenger_.mutex_);
            messenger_.check_alive();
            return found_now();
        }
        std::uint64_t progress() override { return 0; }
        void look(std::uint64_t quiet_ns) override {
            const std::string words = "probe(" + messenger_.from(source_, tag_) + ")";
            messenger_.publish_wait_state(transport::WaitState::incoming, source_);
            messenger_.check_peers(source_, words, quiet_ns, [this] { return over(); }, By::waits);
        }
        std::optional<Taken> found;

    private:
        bool found_now() {
            if (!found)
                found = messenger_.find(source_, tag_);
            return found.has_value();
        }
        int source_, tag_;
    };
    if (const std::optional<Taken> found = probe(source, tag))
        return *found;
    {
        const std::lock_guard lock(mutex_);
        ++probing_;
    }
    ForMessage waiting(*this, source, tag);
    try {
        waiting.complete();
    } catch (...) {
        const std::lock_guard lock(mutex_);
        --probing_;
        throw;
    }
    const std::lock_guard lock(mutex_);
    --probing_;
    return *waiting.found;
}

} // namespace stretto::p2p

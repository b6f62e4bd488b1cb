// SPDX-License-Identifier: BSD-3-Clause
#include "handle.hpp"

#include <nanobind/ndarray.h>
#include <utility>

namespace nb = nanobind;

namespace stretto::python {

struct Handle::Block {
    std::shared_ptr<Handle> handle;
    void *memory;
};

void Handle::enter() {
    if (in_child())
        throw used_in_child("rank " + std::to_string(rank_), pid_);
    if (finalized_ || comm_ == nullptr)
        throw Error(Status::argument, "the communicator is finalized");
    ++inside_;
    free_released();
    reap();
}

void Handle::track(const std::shared_ptr<Pending> &pending) {
    tracked_.remove_if([](const std::weak_ptr<Pending> &other) { return other.expired(); });
    tracked_.push_back(pending);
}

void Handle::abandon(std::shared_ptr<Pending> pending) {
    if (pending->request != nullptr)
        orphans_.push_back(std::move(pending));
}

// Frees orphans that have ended.  Their errors are dropped, as no caller waits for them; but a
// stream must not go on in silence with a message that was cut off.  Without the GIL, like all
// calls: the thread that moves them may need it, for an operation in Python.
void Handle::reap() {
    if (orphans_.empty())
        return;
    auto orphans = std::exchange(orphans_, {}); // others may be orphaned meanwhile
    {
        const nb::gil_scoped_release released;
        for (const std::shared_ptr<Pending> &orphan : orphans) {
            int done = 1;
            if (orphan->running && stretto_test(&orphan->request, &done) == STRETTO_ERR_TRUNCATED &&
                orphan->in_stream)
                (void)stretto_comm_abort(comm_, stretto_last_error());
            orphan->running = done == 0;
            if (!orphan->running && orphan->request != nullptr)
                (void)stretto_request_free(&orphan->request);
        }
    }
    std::erase_if(orphans, [](const auto &orphan) { return !orphan->running; });
    orphans_.insert(orphans_.end(), orphans.begin(), orphans.end());
}

nb::object Handle::allocate(std::size_t bytes) {
    void *memory = nullptr;
    call([&](stretto_comm comm) { return stretto_alloc(comm, bytes, &memory); });
    ++blocks_;
    const nb::capsule owner(new Block{shared_from_this(), memory}, [](void *data) noexcept {
        const std::unique_ptr<Block> block(static_cast<Block *>(data));
        block->handle->release(block->memory);
    });
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(memory, {bytes}, owner));
}

void Handle::release(void *memory) {
    --blocks_;
    if (comm_ == nullptr || in_child())
        return; // it went with the communicator, or is the parent's
    released_.push_back(memory);
    if (inside_ == 0) {
        free_released();
        if (finalized_ && blocks_ == 0)
            leave();
    }
}

void Handle::free_released() {
    for (void *memory : released_)
        (void)stretto_free(comm_, memory);
    released_.clear();
}

void Handle::finalize() {
    if (finalized_ || comm_ == nullptr)
        return;
    if (in_child()) {
        exit();
        return;
    }
    if (inside_ != 0)
        throw Error(Status::argument, "another thread is inside this communicator, which cannot be "
                                      "finalized before it is out");
    enter();
    Signals signals;
    for (const auto &pending : running()) {
        if (pending->of_messages)
            continue; // a message that no receive has matched ends when this rank leaves
        const nb::gil_scoped_release released;
        if (const stretto_status status = stretto_wait(&pending->request); status != STRETTO_OK)
            pending->error.emplace(static_cast<Status>(status), stretto_last_error());
        pending->running = false;
    }
    quit();
    finalized_ = true;
    if (blocks_ == 0)
        leave();
    signals.rethrow();
}

void Handle::exit() {
    finalized_ = true;
    if (in_child()) {
        if (blocks_ == 0 && comm_ != nullptr)
            (void)stretto_finalize(&comm_);
        comm_ = nullptr;
        return;
    }
    if (auto unfinished = running(); !unfinished.empty()) {
        // These requests are never waited for, but their buffers may still be written to, so they
        // are kept until the process ends.
        (void)new auto(std::move(unfinished));
        comm_ = nullptr;
    }
    leave();
}

std::vector<std::shared_ptr<Pending>> Handle::running() const {
    std::vector<std::shared_ptr<Pending>> result;
    for (const std::weak_ptr<Pending> &weak : tracked_)
        if (auto pending = weak.lock(); pending && pending->running)
            result.push_back(std::move(pending));
    return result;
}

void Handle::leave() {
    if (in_child())
        return exit();
    if (comm_ == nullptr || inside_ != 0)
        return;
    for (const std::weak_ptr<Pending> &weak : tracked_)
        if (const auto pending = weak.lock())
            pending->request = nullptr; // freed with the communicator
    const auto unfinished = running();  // keep their buffers until that is done
    stretto_comm comm = std::exchange(comm_, nullptr);
    {
        const nb::gil_scoped_release released;
        (void)stretto_finalize(&comm);
    }
    for (const std::shared_ptr<Pending> &pending : unfinished) {
        pending->running = false;
        pending->error.emplace(Status::revoked,
                               "the communicator was finalized before this request had ended");
    }
    stall_callback_.reset();
    released_.clear();
    tracked_.clear();
    orphans_.clear();
}

} // namespace stretto::python

// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda_executor.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/lazy.hpp"

namespace stretto::device {

using engine::Completion;
using engine::Kernel;
using engine::Work;
using Way = CudaCopies::Way;

namespace {

constexpr std::size_t kPinnedBytes = std::size_t{16} << 20; // of each pool
constexpr std::uint64_t kLongestNapNs = 20'000;

} // namespace

CudaExecutor::CudaExecutor(const Cuda &driver)
    : driver_(driver), registered_(driver), shared_(driver),
      pool_(driver, registered_, kPinnedBytes), ahead_(driver, registered_, kPinnedBytes),
      no_memory_(Status::memory, "no memory for the list of what a device copies") {}

std::uint64_t CudaExecutor::longest_nap() const {
    return kLongestNapNs;
}

void CudaExecutor::wait(const Completion &completion) {
    for (poll(); completion.pending(); poll())
        std::this_thread::sleep_for(engine::kDeviceNap);
}

void CudaExecutor::prepare(CUcontext context) {
    const std::lock_guard lock(mutex_);
    CudaCopies &copies = copies_in(context);
    const Current current(driver_, context);
    (void)(pool_.allocate() && ahead_.allocate()); // else the calls say why
    copies.kernels().load_all();
    register_memory(copies.identity());
}

// While a stream waits, memory that is new stays as it is: copies are right without, and slower.
void CudaExecutor::register_memory(const Context &current) {
    registered_.forget_destroyed(current);
    if (!registered_.all_tried())
        waiting_streams_.ask_if_none([&] { registered_.register_all(); });
}

CudaCopies &CudaExecutor::copies_in(CUcontext context) {
    const Context known = identified(driver_, context);
    std::unique_ptr<CudaCopies> &found = copies_[known];
    if (found == nullptr)
        found = std::make_unique<CudaCopies>(driver_, known);
    return *found;
}

void *CudaExecutor::pinned(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    void *memory = nullptr;
    check_cuda(driver_, registered_.allocate(bytes, &memory), "cuMemHostRegister of pinned memory");
    return memory;
}

PassPointer CudaExecutor::empty(Completion &completion) {
    PassPointer pass;
    if (spare_.empty()) {
        spare_.reserve(++passes_);
        pass = std::make_unique<StagedPass>();
    } else {
        pass = std::move(spare_.back());
        spare_.pop_back();
    }
    pass->host_outs.clear();
    pass->device_outs.clear();
    pass->prefetched.clear();
    pass->event = nullptr;
    pass->copies = nullptr;
    pass->function = nullptr;
    pass->context = nullptr;
    pass->one_context = true;
    pass->ins.clear();
    pass->on_device.clear();
    pass->completions.assign(1, &completion);
    pass->stage = StagedPass::Stage::waiting;
    pass->block = {};
    pass->result = nullptr;
    pass->counted = false;
    return pass;
}

PassPointer CudaExecutor::fresh(const Work &work, Completion &completion, Place &device) {
    PassPointer pass = empty(completion);
    pass->ins.assign(work.ins.begin(), work.ins.end());
    const auto on_device = [&](const void *memory) {
        const Place place = place_of(memory);
        if (!place.on_device)
            return false;
        device = place;
        const CUcontext context = context_of(driver_, place);
        pass->one_context =
            pass->one_context && (pass->context == nullptr || pass->context == context);
        pass->context = context;
        return true;
    };
    for (void *const out : work.outs)
        (on_device(out) ? pass->device_outs : pass->host_outs).push_back(out);
    for (std::size_t k = 0; k < work.ins.size(); ++k) {
        auto *const ahead = k < work.prefetches.size()
                                ? static_cast<CudaPrefetch *>(work.prefetches[k].get())
                                : nullptr;
        // All copies of a pass are of one context.
        const bool fetched =
            ahead != nullptr && (pass->copies == nullptr || pass->copies == ahead->copies);
        pass->on_device.push_back(!fetched && on_device(work.ins[k]));
        if (fetched)
            take_prefetched(*pass, k, *ahead);
    }
    pass->bytes = work.bytes;
    pass->kernel = work.kernel;
    return pass;
}

engine::Executor::Issued CudaExecutor::issue(const Work &work, Completion &completion) {
    Place device;
    std::unique_lock lock(mutex_);
    PassPointer pass = fresh(work, completion, device);
    if ((!device.on_device && pass->copies == nullptr) || work.bytes == 0) {
        spare_.push_back(std::move(pass));
        lock.unlock();
        if (work.bytes != 0)
            perform_on_cpu(work.kernel, work.outs, work.ins, work.bytes);
        return Issued::complete;
    }
    if (pass->copies == nullptr)
        pass->copies = &copies_of(device);
    pass->function = kernel_for(*pass);
    if (work.only_there &&
        (!pass->all_on_device() || (pass->function == nullptr && !pass->copies_only()))) {
        spare_.push_back(std::move(pass));
        return Issued::refused;
    }
    if (work.may_gather && pass->function != nullptr) {
        if (PassPointer gone = gathered_.add(pass))
            spare_.push_back(std::move(gone));
        return Issued::pending;
    }
    if (pass->contributes()) {
        contributions_.add(std::move(pass));
        lock.unlock();
        start_all(contributions_);
        return Issued::pending;
    }
    lock.unlock();
    go_on(std::move(pass));
    return Issued::pending;
}

// All that a queue gives now.
template<class Queue>
void CudaExecutor::start_all(Queue &queue) noexcept {
    for (;;) {
        PassPointer next;
        {
            const std::lock_guard lock(mutex_);
            next = queue.next();
        }
        if (next == nullptr)
            return;
        go_on(std::move(next));
    }
}

void CudaExecutor::start_issued() noexcept {
    start_all(gathered_);
}

// Takes a pass as far as it goes without waiting.
void CudaExecutor::go_on(PassPointer pass) noexcept {
    try {
        if (pass->stage == StagedPass::Stage::waiting) {
            const std::lock_guard lock(mutex_);
            const WaitingStreams::Giving giving(waiting_streams_);
            const Current current(driver_, pass->copies->context());
            register_memory(pass->copies->identity());
            if (pass->function != nullptr) {
                compute(*pass);
                pass->stage = StagedPass::Stage::computing;
                computing_.push_back(std::move(pass));
                return;
            }
            if (!start(*pass)) {
                waiting_.push_front(std::move(pass));
                return;
            }
            pass->stage = StagedPass::Stage::fetching;
            if (pass->event != nullptr && !pass->copies->happened(pass->event)) {
                const auto place =
                    std::ranges::upper_bound(fetching_, pass->number, {},
                                             [](const PassPointer &each) { return each->number; });
                fetching_.insert(place, std::move(pass));
                return;
            }
        }
        if (pass->stage == StagedPass::Stage::fetching) {
            work(*pass);
            if (!pass->device_outs.empty()) {
                const std::lock_guard lock(mutex_);
                const WaitingStreams::Giving giving(waiting_streams_);
                const Current current(driver_, pass->copies->context());
                store(*pass);
                pass->stage = StagedPass::Stage::storing;
                storing_.push_back(std::move(pass));
                return;
            }
        }
        end(std::move(pass), nullptr);
    } catch (const Error &why) {
        end(std::move(pass), &why);
    } catch (const std::bad_alloc &) {
        end(std::move(pass), &no_memory_);
    }
}

// After this nothing touches the memory of the pass.
void CudaExecutor::end(PassPointer pass, const Error *why) noexcept {
    if (why != nullptr)
        pass->copies->settle(); // copies of this pass may be on their way
    {
        const std::lock_guard lock(mutex_);
        if (pass->event != nullptr)
            pass->copies->give_back(pass->event);
        pool_.give_back(pass->block);
        for (const PinnedPool::Block &block : pass->prefetched)
            ahead_.give_back(block);
        contributions_.ended(*pass);
    }
    for (Completion *const each : pass->completions)
        if (why != nullptr)
            each->fail(*why);
        else
            each->complete();
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(pass));
}

// Copies of one way end in the order in which they were started, so the first that has not ended
// tells of all behind it.
void CudaExecutor::take_ended(Passes &passes, std::vector<Ended> &ended) {
    while (!passes.empty()) {
        StagedPass &first = *passes.front();
        std::optional<Error> why;
        try {
            if (!first.copies->happened(first.event))
                return;
        } catch (const Error &error) {
            why = error;
        }
        ended.emplace_back(); // if this throws, the pass stays where it is
        ended.back().why = std::move(why);
        ended.back().pass = std::move(passes.front());
        passes.pop_front();
    }
}

void CudaExecutor::poll() {
    start_issued();
    std::vector<Ended> ended; // allocates nothing if nothing has ended
    {
        const std::lock_guard lock(mutex_);
        take_ended(fetching_, ended);
        take_ended(storing_, ended);
        take_ended(computing_, ended);
    }
    for (Ended &each : ended)
        if (each.why)
            end(std::move(each.pass), &*each.why);
        else
            go_on(std::move(each.pass));
    start_waiting();
    {
        const std::lock_guard lock(mutex_);
        contributions_.looked();
    }
    start_all(contributions_);
}

void CudaExecutor::start_waiting() {
    for (bool waits = false; !waits;) {
        PassPointer next;
        std::size_t left = 0;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty())
                return;
            next = std::move(waiting_.front());
            waiting_.pop_front();
            left = waiting_.size();
        }
        go_on(std::move(next));
        const std::lock_guard lock(mutex_);
        waits = waiting_.size() > left; // there was no room for it yet
    }
}

// The driver may unregister memory only when the device has nothing to do.  While a stream waits
// for a call, the executor does not ask for that, since the call could not go on.  After a second
// it asks all the same: the stream may wait for a call that this thread makes later.
void CudaExecutor::release_memory(void *memory) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (!registered_.remove(memory))
            return;
    }
    for (const std::uint64_t since = now_ns();;) {
        {
            const std::lock_guard lock(mutex_);
            bool done = false;
            waiting_streams_.ask_if_none([&] {
                unregister(memory);
                done = true;
            });
            streams_stuck_ = !done && (streams_stuck_ || now_ns() - since > engine::kStuckNs);
            if (streams_stuck_) {
                const WaitingStreams::Giving giving(waiting_streams_);
                unregister(memory);
            }
            if (done || streams_stuck_)
                return;
        }
        std::this_thread::sleep_for(engine::kDeviceNap);
    }
}

// Memory that is registered for all contexts is unregistered in any that still works.
void CudaExecutor::unregister(void *memory) noexcept {
    for (const auto &[context, copies] : copies_) {
        try {
            const Current current(driver_, context.handle);
            if (driver_.unregister_host(memory) == CUDA_SUCCESS)
                return;
        } catch (const Error &) { // this context is gone
        }
    }
}

static Lazy<std::unique_ptr<CudaExecutor>> executor;

CudaExecutor &cuda_executor() {
    return *executor.get([] { return std::make_unique<CudaExecutor>(*cuda()); });
}

} // namespace stretto::device

// SPDX-License-Identifier: BSD-3-Clause
// Copies and reductions of buffers in CUDA memory.  If all buffers of a pass are on the device, a
// kernel reduces them.  Else they go through the stages of one software pipeline (Ueno and Fukuda,
// section III): the device's copy engines bring operands to pinned host memory, the CPU reduces
// them, and copy engines take results back.  Each pass of a call goes its way by itself, so passes
// overlap one another and the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/contribution_queue.hpp"
#include "device/gathered_passes.hpp"
#include "device/registered_memory.hpp"
#include "device/shared_memory.hpp"
#include "device/staged_pass.hpp"
#include "device/waiting_streams.hpp"
#include "engine/executor.hpp"

namespace stretto::device {

class CudaExecutor;

// An operand on its way from the device to pinned memory, or there.
struct CudaPrefetch final : engine::Prefetch {
    explicit CudaPrefetch(CudaExecutor &owner) : executor(owner) {}
    ~CudaPrefetch() override;
    bool complete() override;

    CudaExecutor &executor;
    CudaCopies *copies = nullptr;
    PinnedPool::Block block;
    CUevent event = nullptr; // null: a pass has the block, or there is none
    std::uint64_t number = 0;
};

class CudaExecutor final : public engine::Executor {
public:
    explicit CudaExecutor(const Cuda &driver);

    bool supports(MemoryKind memory, const engine::Kernel &) const override {
        return memory == MemoryKind::cuda;
    }
    std::unique_ptr<engine::Prefetch> prefetch(const void *from, std::size_t bytes) override;
    Issued issue(const engine::Work &work, engine::Completion &completion) override;
    void start_issued() noexcept override;
    std::uint64_t longest_nap() const override;
    void poll() override;
    void wait(const engine::Completion &completion) override;
    void copy(void *to, const void *from, std::size_t bytes) override;
    bool performs_there(const void *memory, const engine::Kernel &kernel,
                        const reduce::ElementMap *then, std::size_t buffers) noexcept override;
    Issued issue_all(const engine::PassList &list, engine::Completion &completion) override;
    bool maps(const void *memory, const reduce::ElementMap &map) noexcept override;
    void map(void *memory, std::size_t count, const reduce::ElementMap &map) override;
    std::uint64_t share(engine::SharedLists &lists, const void *memory, std::size_t bytes,
                        bool idle, std::optional<unsigned> kept) override;
    void watch_lists(engine::SharedLists &lists) override;
    void forget_lists(engine::SharedLists &lists) noexcept override;
    void open_shared() override;
    bool takes_turns() const override;
    Error refused(int error) override;
    void *find_shared(const transport::SharedDevice &mine, const transport::SharedDevice &its,
                      transport::DevicePlace place) override;
    std::optional<transport::DevicePiece> piece_of(const void *memory, std::size_t bytes) override;
    const void *find_piece(const transport::DevicePiece &piece, const void *to) override;
    void use_memory(void *memory, std::size_t bytes) override {
        const std::lock_guard lock(mutex_);
        registered_.add(memory, bytes);
    }
    void release_memory(void *memory) noexcept override;

    // Asks the driver for all that calls in a context need, before a stream waits for one of them.
    // Throws Error.
    void prepare(CUcontext context);
    // Pinned memory, for as long as the process lives.  With a context current that was prepared.
    // Throws Error.
    void *pinned(std::size_t bytes);
    WaitingStreams &waiting_streams() { return waiting_streams_; }

private:
    friend struct CudaPrefetch;
    PassPointer empty(engine::Completion &completion);
    PassPointer fresh(const engine::Work &work, engine::Completion &completion, Place &device);
    static void take_prefetched(StagedPass &pass, std::size_t operand, CudaPrefetch &ahead);
    CudaCopies &copies_of(const Place &place) { return copies_in(context_of(driver_, place)); }
    CudaCopies &copies_in(CUcontext context);
    CUfunction kernel_for(const StagedPass &pass);
    CudaCopies *copies_of_all(std::span<const void *const> buffers);
    template<class KernelOrMap>
    void load_if_unknown(CudaKernels &kernels, CUcontext context, const KernelOrMap &wanted);
    void perform_now(std::unique_lock<std::mutex> &lock, CudaCopies &copies, CudaCopies::Way way,
                     const std::function<void(CudaCopies &)> &start);
    void go_on(PassPointer pass) noexcept;
    void start_waiting();
    template<class Queue>
    void start_all(Queue &queue) noexcept;
    // cuda_stages.cpp
    bool start(StagedPass &pass);
    void fetch(StagedPass &pass);
    void fetch_to_host(StagedPass &pass, const void *from);
    static void work(StagedPass &pass);
    void store(StagedPass &pass);
    void take_short_result(StagedPass &pass);
    static void perform_on_cpu(const engine::Kernel &kernel, std::span<void *const> outs,
                               std::span<const void *const> ins, std::size_t bytes);
    // cuda_computing.cpp
    void compute(StagedPass &pass);
    void close_replaced();

    void end(PassPointer pass, const Error *why) noexcept;
    void drop(CudaPrefetch &ahead) noexcept;
    struct Ended {
        PassPointer pass;
        std::optional<Error> why; // its copies have failed
    };
    void register_memory(const Context &current);
    void unregister(void *memory) noexcept;
    static void take_ended(Passes &passes, std::vector<Ended> &ended);

    const Cuda &driver_;
    WaitingStreams waiting_streams_;
    std::mutex mutex_; // of all that follows
    std::map<Context, std::unique_ptr<CudaCopies>> copies_;
    // Two pools: operands that were prefetched stay until the cells of other ranks have come, and
    // must not keep from their memory the passes that these ranks wait for.
    RegisteredMemory registered_;
    bool streams_stuck_ = false; // memory was unregistered though some wait
    SharedMemory shared_;
    std::vector<engine::SharedLists *> lists_; // of all communicators of this process
    PinnedPool pool_, ahead_;
    std::uint64_t marks_ = 0; // events so far
    Passes waiting_;          // for pinned memory
    GatheredPasses gathered_;
    ContributionQueue contributions_;
    // In the order in which their copies, or kernels, end.
    Passes fetching_, storing_, computing_;
    std::vector<PassPointer> spare_; // with room for all passes, so giving back allocates nothing
    std::size_t passes_ = 0;         // ever created
    int at_once_ = 0;                // copies and maps for which a thread waits
    const Error no_memory_;          // made ahead: when it is needed, there is no memory
};

// The executor of all devices of this process.  Only after find_cuda().
CudaExecutor &cuda_executor();

} // namespace stretto::device

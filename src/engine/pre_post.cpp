// SPDX-License-Identifier: BSD-3-Clause
// Work of calls apart from the passes of built-in reductions: contributions that are mapped before,
// results that are mapped or moved after, vectors in pieces, and operations of the caller.
#include <exception>
#include <new>

#include "engine/engine.hpp"
#include "engine/executor.hpp"

namespace stretto::engine {

// A kernel costs a turn of a device that several processes share (docs/gpu.md): shorter results
// are mapped sooner in host memory.
static constexpr std::size_t kLeastMapBytes = std::size_t{128} << 10;

// Whether the CPU does not reach the buffers of this call.
static bool in_other_memory(const Call &call) {
    return call.execution != nullptr && call.execution->memory != MemoryKind::host;
}

static std::byte *mapped_result(const Run &run) {
    return reinterpret_cast<std::byte *>(run.base[1] + run.call->pre_post->post.first);
}

void Engine::prepare(Run &run) {
    const Call &call = *run.call;
    if (call.move_bytes != 0) {
        if (run.aside.size() < call.move_bytes)
            run.aside.resize(call.move_bytes);
        run.base[1] = reinterpret_cast<std::uintptr_t>(run.aside.data()) - call.move_first;
    }
    const void *input = call.input;
    if (call.batch != nullptr) {
        if (run.aside.size() < call.batch->bytes)
            run.aside.resize(call.batch->bytes);
        std::byte *next = run.aside.data();
        input = next;
        run.base[0] = run.base[1] = reinterpret_cast<std::uintptr_t>(next);
        for (const Batch::Piece &piece : call.batch->pieces) {
            copy_bytes(run, next, piece.from, piece.bytes);
            next += piece.bytes;
        }
    }
    if (call.pre_post == nullptr)
        return;
    // At the end of a call nothing may fail for lack of memory.
    if (const PrePost::Mapped &after = call.pre_post->post;
        after.map != nullptr && in_other_memory(call)) {
        const std::size_t bytes = after.count * run.plan->element;
        run.maps_there =
            bytes >= kLeastMapBytes &&
            call.execution->executor->maps(mapped_result(run), call.pre_post->map_of_result());
        if (!run.maps_there && run.mapped.size() < bytes)
            run.mapped.resize(bytes);
    }
    if (call.pre_post->pre.map == nullptr)
        return;
    const PrePost::Mapped &before = call.pre_post->pre;
    const std::size_t bytes = before.count * run.plan->element;
    if (run.mapped.size() < bytes)
        run.mapped.resize(bytes);
    const void *from = static_cast<const std::byte *>(input) + before.first;
    if (in_other_memory(call)) {
        copy_bytes(run, run.mapped.data(), from, bytes);
        from = run.mapped.data();
    }
    before.map(run.mapped.data(), from, before.count, before.constant);
    run.base[0] = reinterpret_cast<std::uintptr_t>(run.mapped.data()) - before.first;
}

// Other ranks have stored everything into this rank's output before its last step.
void Engine::finish(Run &run) {
    const Call &call = *run.call;
    if (call.pre_post != nullptr && call.pre_post->post.map != nullptr) {
        const PrePost::Mapped &after = call.pre_post->post;
        std::byte *const result = mapped_result(run);
        if (in_other_memory(call) && run.maps_there) {
            try {
                call.execution->executor->map(result, after.count, call.pre_post->map_of_result());
            } catch (const Error &error) {
                fail(error.status(),
                     "a copy or reduction of " + here(run) + " failed: " + error.what());
            }
        } else if (in_other_memory(call)) {
            const std::size_t bytes = after.count * run.plan->element;
            copy_bytes(run, run.mapped.data(), result, bytes); // which no rank reads any more
            after.map(run.mapped.data(), run.mapped.data(), after.count, after.constant);
            copy_bytes(run, result, run.mapped.data(), bytes);
        } else {
            after.map(result, result, after.count, after.constant);
        }
    }
    if (call.move_bytes != 0)
        copy_bytes(run, call.move_to, run.aside.data(), call.move_bytes);
    if (call.batch != nullptr) {
        const std::byte *next = run.aside.data();
        for (const Batch::Piece &piece : call.batch->pieces) {
            copy_bytes(run, piece.to, next, piece.bytes);
            next += piece.bytes;
        }
    }
}

// Other ranks wait for the result of a failed operation, so its failure fails the communicator.
void Engine::reduce_by_user(const Run &run, void **outs, int count, const void **ins, int operands,
                            std::size_t bytes) {
    const PrePost &pre_post = *run.call->pre_post;
    std::string why;
    try {
        reduce::fold(*pre_post.operation, pre_post.dtype, outs, count, ins, operands,
                     bytes / run.plan->element);
        return;
    } catch (const std::bad_alloc &) {
        why = "out of memory";
    } catch (const std::exception &error) {
        why = error.what();
    } catch (...) {
        why = "it threw no std::exception";
    }
    fail(Status::operation, "the user-defined operation failed on " + here(run) + ": " + why);
}

} // namespace stretto::engine

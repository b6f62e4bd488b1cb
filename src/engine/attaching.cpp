// SPDX-License-Identifier: BSD-3-Clause
// Zero copy with contributions in a rank's own memory.  Other ranks of its host read them there:
// by XPMEM in place (transport/shm/in_place.hpp), or else one rank copies from there by a system
// call (peer_memory.hpp).  The call ends only when they have, so only in calls that no rank can
// leave before all have entered.
#include <algorithm>
#include <cstring>
#include <new>

#include "engine/engine.hpp"
#include "engine/step.inl"
#include "transport/shm/fault_guard.hpp"
#include "transport/shm/in_place.hpp"
#include "transport/shm/peer_memory.hpp"

namespace stretto::engine {

using transport::Attach;
using transport::InPlace;
using transport::Location;

namespace {

// A step copies pieces of all its operands that together have this size, and reduces them while
// they are in the private cache.
constexpr std::size_t kPiecesBytes = 524288;

} // namespace

bool Engine::attaches(const Call &call) {
    const Plan &plan = *call.plan;
    if (!plan.synchronizing || call.execution != nullptr)
        return false;
    const bool mapped = maps();
    if (plan.vector_bytes < kLeastAttachVectorBytes)
        return in_place_ == InPlace::kept;
    if (mapped)
        return true;
    if (plan.bytes_reduced != 0 && !options_.attaches_to_reduce)
        return false;
    if (attach_ == Attach::unknown) // peers may still be trying
        attach_ = transport::attach_on_host(*segment_);
    return attach_ == Attach::works;
}

// Whether this rank reads the memory of others by XPMEM.  A rank that has published the place of a
// contribution has seen what all ranks of the host have found; so has the reader of its cell.
bool Engine::maps() {
    if (in_place_ == InPlace::unknown) // peers may still be trying
        in_place_ = transport::in_place_on_host(*segment_);
    return in_place_ > InPlace::refused;
}

// This rank would copy the contribution into a cell once for all its readers, while they are busy
// with other cells.  So a system call, or attaching for one step, pays only if there is one reader.
// What stays attached costs no reader anything.
bool Engine::attached(const Run &run, const Step &step) {
    if (run.call->execution != nullptr)
        return read_on_device(run, step);
    const bool kept = in_place_ == InPlace::kept;
    if (step.length < (kept ? kLeastZeroCopyBytes : kLeastAttachBytes) ||
        (step.readers != 1 && !kept))
        return false;
    const StepReader *reader = run.plan->readers.data() + step.first_reader;
    return std::all_of(reader, reader + step.readers,
                       [&](const StepReader &each) { return segment_->here(each.rank); });
}

// Where an operand lies in the memory of the rank that published it; nothing if it lies elsewhere.
std::optional<Location> Engine::elsewhere(const Run &run, const StepOperand &operand) const {
    if (operand.space != Space::cell)
        return std::nullopt;
    const Location where = cell(operand.rank, run.bases[operand.rank] + operand.offset).where;
    if (where.in() != Location::In::owner && where.in() != Location::In::device)
        return std::nullopt;
    return where;
}

void Engine::fail_reading(const Run &run, int rank, const Error &error) {
    if (error.status() == Status::peer)
        fail(Status::peer, gone(run, rank, transport::Presence::dead));
    fail(error.status(), here(run) + ": " + error.what());
}

// The kernel takes the memory of a process away a moment before it shows that the process has
// ended.
void Engine::fail_gone(const Run &run, int rank) {
    if (segment_->presence(rank) == transport::Presence::dead)
        fail(Status::peer, gone(run, rank, transport::Presence::dead));
    fail(Status::peer, here(run) + ": " + transport::memory_gone(*segment_, rank).what());
}

const void *Engine::attach(const Run &run, const StepOperand &operand, std::uint64_t address,
                           std::size_t bytes) {
    try {
        if (attachments_ == nullptr)
            attachments_ = std::make_unique<transport::Attachments>(
                transport::xpmem(), segment_->ranks(), in_place_ == InPlace::kept);
        return transport::attach_memory(*segment_, *attachments_, operand.rank, address, bytes);
    } catch (const Error &error) {
        fail_reading(run, operand.rank, error);
    } catch (const std::bad_alloc &) {
        fail(Status::memory, here(run) + " has no memory for the list of what it has attached");
    }
}

void Engine::take(const Run &run, const StepOperand &operand, Location where, void *into,
                  std::size_t bytes) {
    const auto address = static_cast<std::uint64_t>(where.offset());
    if (where.in() == Location::In::device)
        return take_from_device(run, operand.rank, address, into, bytes);
    if (maps()) {
        const void *const from = attach(run, operand, address, bytes);
        const bool there = transport::guarded({&from, 1, bytes}, [&] {
                               std::memcpy(into, from, bytes);
                           }) == transport::kNoRead;
        attachments_->end_step();
        if (!there)
            fail_gone(run, operand.rank);
        return;
    }
    try {
        transport::read_memory(*segment_, operand.rank, address, into, bytes);
    } catch (const Error &error) {
        fail_reading(run, operand.rank, error);
    }
}

template<class Value>
void Engine::make_room(const Run &run, std::vector<Value> &list, std::size_t size) {
    if (list.size() >= size)
        return;
    try {
        list.resize(size);
    } catch (const std::bad_alloc &) {
        fail(Status::memory, here(run) + " has no memory for " +
                                 std::to_string(size * sizeof(Value)) + " bytes of operands");
    }
}

// The work of a step of which operands are in the memory of other ranks, by XPMEM: a reduction
// reads them there.
void Engine::work_mapped(Run &run, const Step &step, int outs, std::uint32_t streaming) {
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    make_room(run, pieces_.ins, step.operands);
    std::size_t reads = 0;
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (const std::optional<Location> from = elsewhere(run, operand[k]))
            pieces_.ins[reads++] = run.ins[k] =
                attach(run, operand[k], static_cast<std::uint64_t>(from->offset()), step.length);
    std::size_t missing = transport::guarded({pieces_.ins.data(), reads, step.length}, [&] {
        if (step.operands == 1)
            copy_(run.outs.data(), outs, run.ins.data(), 1, step.length, streaming);
        else
            run.call->reduce(run.outs.data(), outs, run.ins.data(), step.operands,
                             step.length / run.plan->element, streaming);
    });
    attachments_->end_step();
    if (missing == transport::kNoRead)
        return;
    for (std::uint32_t k = 0;; ++k)
        if (elsewhere(run, operand[k]) && missing-- == 0)
            fail_gone(run, operand[k].rank);
}

// The work of any such step.
void Engine::work_attached(Run &run, const Step &step, int outs, std::uint32_t streaming) {
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    const bool on_devices = std::any_of(operand, operand + step.operands, [&](const auto &each) {
        const std::optional<Location> where = elsewhere(run, each);
        return where && where->in() == Location::In::device;
    });
    // A function of the caller may do what the guard of attached memory does not allow.
    if ((step.operands == 1 || run.call->reduce != nullptr) && !on_devices && maps())
        return work_mapped(run, step, outs, streaming);
    if (step.operands == 1) {
        take(run, operand[0], *elsewhere(run, operand[0]), run.outs[0], step.length);
        const void *taken = run.outs[0];
        if (outs > 1)
            copy_(run.outs.data() + 1, outs - 1, &taken, 1, step.length, streaming >> 1);
        return;
    }
    const std::size_t element = run.plan->element;
    const std::size_t piece =
        std::max(kPiecesBytes / step.operands / element, std::size_t{1}) * element;
    make_room(run, pieces_.ins, step.operands);
    make_room(run, pieces_.outs, run.plan->most_outputs);
    make_room(run, pieces_.memory, step.operands * piece);
    for (std::size_t done = 0; done < step.length; done += piece) {
        const std::size_t bytes = std::min(piece, step.length - done);
        for (std::uint32_t k = 0; k < step.operands; ++k) {
            const std::optional<Location> from = elsewhere(run, operand[k]);
            if (!from) {
                pieces_.ins[k] = static_cast<const std::byte *>(run.ins[k]) + done;
                continue;
            }
            std::byte *const own = pieces_.memory.data() + k * piece;
            take(run, operand[k], {from->in(), from->offset() + static_cast<std::int64_t>(done)},
                 own, bytes);
            pieces_.ins[k] = own;
        }
        for (int out = 0; out < outs; ++out)
            pieces_.outs[static_cast<std::size_t>(out)] =
                static_cast<std::byte *>(run.outs[static_cast<std::size_t>(out)]) + done;
        if (run.call->reduce != nullptr)
            run.call->reduce(pieces_.outs.data(), outs, pieces_.ins.data(), step.operands,
                             bytes / element, streaming);
        else
            reduce_by_user(run, pieces_.outs.data(), outs, pieces_.ins.data(), step.operands,
                           bytes);
    }
}

// For a step that an executor performs: whole operands, which last as long as `memory`, or where
// they are on a device.
void Engine::take_all(Run &run, const Step &step, std::vector<std::byte> &memory) {
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (const auto from = elsewhere(run, operand[k])) {
            if (from->in() == Location::In::device) {
                const auto place = static_cast<std::uint64_t>(from->offset());
                run.ins[k] = on_device(run, operand[k].rank, place);
                if (run.ins[k] != nullptr)
                    continue;
            }
            const std::size_t needed = std::size_t{step.operands} * step.length;
            make_room(run, memory, needed);
            std::byte *const own = memory.data() + std::size_t{k} * step.length;
            take(run, operand[k], *from, own, step.length);
            run.ins[k] = own;
        }
}

} // namespace stretto::engine

// SPDX-License-Identifier: BSD-3-Clause
#include "reduction.hpp"

#include <algorithm>
#include <climits>
#include <vector>

#include "failure.hpp"

namespace stretto::mpi {

namespace {

constexpr std::size_t kLargestRecordBytes = 4096; // bytes, of STRETTO_RECORD

} // namespace

Reduction::~Reduction() {
    if (made_)
        (void)stretto_op_free(op_);
}

Reason Reduction::prepare_alone(Handle datatype, Handle op) {
    const PredefinedOp *known = Names::get().op(op);
    if (!examine(datatype, datatype_))
        return Reason::argument;
    if (known == nullptr)
        return op == MpiLibrary::get().abi().op_null ? Reason::argument : Reason::own_operation;
    if (datatype_.predefined == nullptr ||
        !known->of[static_cast<std::size_t>(datatype_.predefined->what)])
        return Reason::pair;
    if (!known->op || !datatype_.predefined->dtype)
        return Reason::own_operation;
    dtype_ = *datatype_.predefined->dtype;
    op_ = *known->op;
    return Reason::by_stretto;
}

Reason Reduction::prepare(Handle datatype, Handle op) {
    handle_ = op;
    const Reason reason = prepare_alone(datatype, op);
    if (reason != Reason::own_operation)
        return reason;
    if (Names::get().op(op) != nullptr) {
        // A pair travels with the gap in it.
        datatype_.size = datatype_.predefined->extent;
        datatype_.dense = true;
        make(true, datatype_.size);
        return Reason::by_stretto;
    }
    int commutative = 0;
    if (op == 0 || MpiLibrary::get().Op_commutative(op, &commutative) != 0)
        return Reason::argument;
    if (datatype_.size == 0 || datatype_.size > kLargestRecordBytes)
        return Reason::element;
    make(commutative != 0, datatype_.size);
    return Reason::by_stretto;
}

void Reduction::make(bool commutative, std::size_t element) {
    dtype_ = STRETTO_RECORD(static_cast<int>(element));
    check(stretto_op_create(apply_any, this, commutative ? 1 : 0, &op_));
    made_ = true;
}

void Reduction::apply_any(const void *in, void *inout, std::size_t count, stretto_dtype,
                          void *context) {
    static_cast<const Reduction *>(context)->apply(in, inout, count);
}

void Reduction::apply(const void *in, void *inout, std::size_t count) const {
    const MpiLibrary &host = MpiLibrary::get();
    const auto reduce = [&](const void *left, void *right, std::size_t elements) {
        if (const int code = host.Reduce_local(left, right, static_cast<int>(elements),
                                               datatype_.handle, handle_);
            code != 0)
            throw Failure(STRETTO_ERR_OPERATION,
                          "MPI_Reduce_local failed with code " + std::to_string(code));
    };
    if (datatype_.dense) {
        for (std::size_t at = 0; at < count; at += INT_MAX)
            reduce(static_cast<const std::byte *>(in) + at * datatype_.size,
                   static_cast<std::byte *>(inout) + at * datatype_.size,
                   std::min<std::size_t>(count - at, INT_MAX));
        return;
    }
    // The function sees elements as the program lays them out.  There may be data before the
    // address of an element, and beyond its extent.
    std::intptr_t lowest = 0, extent = 0, true_lowest = 0, true_extent = 0;
    if (host.Type_get_extent(datatype_.handle, &lowest, &extent) != 0 ||
        host.Type_get_true_extent(datatype_.handle, &true_lowest, &true_extent) != 0)
        throw Failure(STRETTO_ERR_OPERATION, "the MPI library does not tell a datatype's extent");
    const auto step = static_cast<std::size_t>(extent < 0 ? -extent : extent);
    const auto before = static_cast<std::size_t>(true_lowest < 0 ? -true_lowest : 0) + step;
    constexpr std::size_t kAtOnce = 64;
    const std::size_t room =
        2 * before + kAtOnce * step +
        static_cast<std::size_t>(std::max<std::intptr_t>(0, true_lowest) + true_extent);
    // Of std::max_align_t, for whatever the program's function takes them for.
    std::vector<std::max_align_t> left(room / sizeof(std::max_align_t) + 1), right(left.size());
    const std::size_t grain = sizeof(std::max_align_t);
    const std::size_t first = (before + (extent < 0 ? kAtOnce * step : 0) + grain - 1) / grain;
    left.resize(left.size() + first);
    right.resize(left.size());
    auto *const a = reinterpret_cast<std::byte *>(left.data() + first);
    auto *const b = reinterpret_cast<std::byte *>(right.data() + first);
    for (std::size_t at = 0; at < count; at += kAtOnce) {
        const std::size_t elements = std::min(kAtOnce, count - at);
        const auto *const lefts = static_cast<const std::byte *>(in) + at * datatype_.size;
        auto *const rights = static_cast<std::byte *>(inout) + at * datatype_.size;
        unpack(datatype_, lefts, elements, a);
        unpack(datatype_, rights, elements, b);
        reduce(a, b, elements);
        pack(datatype_, b, elements, rights);
    }
}

} // namespace stretto::mpi

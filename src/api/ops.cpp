// SPDX-License-Identifier: BSD-3-Clause
// The C API: operations of the caller's own.
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "handles.hpp"

using stretto::Dtype;
using stretto::Error;
using stretto::ReduceOp;
using stretto::Status;
using stretto::reduce::Operation;
using namespace stretto::api;

namespace {

// All operations of the process.  A number is never used twice.  So a freed operation is
// recognised, and a plan that was made for it is never used for another one.
class Operations {
public:
    stretto_op add(Operation &&operation) {
        auto kept = std::make_shared<const Operation>(std::move(operation));
        const std::lock_guard lock(mutex_);
        if (last_ == INT32_MAX)
            throw Error(Status::memory, "there is no number left for another operation");
        by_number_.emplace(last_ + 1, std::move(kept));
        return static_cast<stretto_op>(++last_);
    }
    OperationPointer find(int number) {
        const std::lock_guard lock(mutex_);
        const auto found = by_number_.find(number);
        if (found == by_number_.end())
            refuse();
        return found->second;
    }
    void remove(int number) {
        OperationPointer kept; // freed without the lock
        const std::lock_guard lock(mutex_);
        const auto found = by_number_.find(number);
        if (found == by_number_.end())
            refuse();
        kept = std::move(found->second);
        by_number_.erase(found);
    }

private:
    [[noreturn]] static void refuse() {
        throw Error(Status::argument, "no such op: neither one of stretto_op in stretto.h, nor one "
                                      "of stretto_op_create that is not freed");
    }

    stretto::ProcessLock mutex_;
    std::unordered_map<int, OperationPointer> by_number_;
    int last_ = STRETTO_OP_CREATED - 1;
};

Operations &operations = *new Operations; // threads may outlive main()

} // namespace

OperationPointer stretto::api::created(int op) {
    return operations.find(op);
}

Dtype stretto::api::dtype_of(int dtype) {
    require(dtype >= 0 && stretto::is_dtype(static_cast<unsigned>(dtype)),
            "unknown dtype; see stretto_dtype in stretto.h");
    return static_cast<Dtype>(dtype);
}

void stretto::api::require_pair(Dtype dtype, ReduceOp op) {
    if (supports(dtype, op))
        return;
    std::string others;
    for (int each = 0; each < stretto::kReduceOps; ++each)
        if (supports(dtype, static_cast<ReduceOp>(each)) &&
            static_cast<ReduceOp>(each) != ReduceOp::user_in_order)
            others.append(others.empty() ? "" : ", ").append(name(static_cast<ReduceOp>(each)));
    throw Error(Status::argument, "there is no " + std::string(name(op)) + " of " + words(dtype) +
                                      "; there are: " + others);
}

extern "C" {

stretto_status stretto_op_create(stretto_op_function function, void *context, int commutative,
                                 stretto_op *op) {
    return guarded([&] {
        require(function != nullptr && op != nullptr,
                "the function or the place for the op is NULL");
        Operation operation;
        operation.kind = commutative != 0 ? ReduceOp::user : ReduceOp::user_in_order;
        operation.function = [function, context](const void *in, void *inout, std::size_t count,
                                                 Dtype dtype) {
            function(in, inout, count, static_cast<stretto_dtype>(dtype), context);
        };
        *op = operations.add(std::move(operation));
    });
}

stretto_status stretto_op_create_premul_sum(const void *scalar, stretto_dtype dtype,
                                            stretto_op *op) {
    return guarded([&] {
        require(scalar != nullptr && op != nullptr, "the scalar or the place for the op is NULL");
        Operation operation;
        operation.kind = ReduceOp::premul_sum;
        operation.dtype = dtype_of(dtype);
        require_pair(operation.dtype, operation.kind);
        std::memcpy(operation.factor.data(), scalar, size_of(operation.dtype));
        *op = operations.add(std::move(operation));
    });
}

stretto_status stretto_op_free(stretto_op op) {
    return guarded([&] { operations.remove(op); });
}

} // extern "C"

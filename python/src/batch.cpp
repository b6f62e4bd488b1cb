// SPDX-License-Identifier: BSD-3-Clause
// Several arrays that are reduced as one.
#include <memory>
#include <nanobind/stl/optional.h>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "bindings.hpp"
#include "buffer.hpp"
#include "errors.hpp"
#include "operation.hpp"
#include "request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

struct Batch {
    std::vector<Buffer> buffers; // keep the memory alive
    std::vector<stretto_part> parts;
    stretto_dtype dtype = STRETTO_FLOAT32;
    stretto_op op;
    nb::object operation;

    Batch(const nb::list &arrays, nb::handle what, StreamNumber order = {})
        : op(op_of(what)), operation(nb::borrow(what)) {
        for (const nb::handle array : arrays) {
            const std::string name = "arrays[" + std::to_string(buffers.size()) + "]";
            const Buffer &buffer =
                buffers.emplace_back(array, Buffer::Use::write, name.c_str(), order);
            if (parts.empty())
                dtype = buffer.dtype();
            if (buffer.dtype() != dtype)
                throw Error(Status::argument,
                            name + " holds " +
                                std::string(stretto::name(static_cast<Dtype>(buffer.dtype()))) +
                                ", arrays[0] " +
                                std::string(stretto::name(static_cast<Dtype>(dtype))) +
                                "; all arrays of a batch have one type");
            parts.push_back({STRETTO_IN_PLACE, buffer.data(), buffer.count()});
        }
    }
};

void allreduce_batch(const Communicator &self, const nb::list &arrays, nb::handle op,
                     std::optional<double> timeout) {
    const Limit limit(timeout);
    const Batch batch(arrays, op);
    self.handle->call([&](stretto_comm comm) {
        return stretto_allreduce_batch(comm, batch.parts.data(), batch.parts.size(), batch.dtype,
                                       batch.op);
    });
}

Request iallreduce_batch(const Communicator &self, const nb::list &arrays, nb::handle op,
                         StreamNumber stream) {
    auto batch = std::make_shared<Batch>(arrays, op, stream);
    return begin(self.handle, batch, false, [&](stretto_comm comm, Pending &pending) {
        return in_order_of(stream, self.handle->streams_wait, [&] {
            return stretto_iallreduce_batch(comm, batch->parts.data(), batch->parts.size(),
                                            batch->dtype, batch->op, &pending.request);
        });
    });
}

} // namespace

void bind_batch(nb::class_<Communicator> &communicator) {
    communicator
        .def("allreduce_batch", &allreduce_batch, "arrays"_a, "op"_a, "timeout"_a = nb::none())
        .def("iallreduce_batch", &iallreduce_batch, "arrays"_a, "op"_a, "stream"_a = nb::none());
}

} // namespace stretto::python

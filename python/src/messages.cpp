// SPDX-License-Identifier: BSD-3-Clause
// Messages, the collectives that are made of them, and communicators made of others.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "bindings.hpp"
#include "buffer.hpp"
#include "request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using Sizes = std::vector<std::size_t>;

[[noreturn]] void refuse(const std::string &why) {
    throw Error(Status::argument, why);
}

nb::tuple tuple_of(const stretto_message &message) {
    return nb::make_tuple(message.source, message.tag, message.bytes);
}

void send(const Communicator &self, nb::handle array, int dest, int tag,
          std::optional<double> timeout) {
    const Limit limit(timeout);
    const Buffer buffer(array, Buffer::Use::read, "buffer");
    self.handle->call([&](stretto_comm comm) {
        return stretto_send(comm, buffer.data(), buffer.count(), buffer.dtype(), dest, tag);
    });
}

nb::tuple recv(const Communicator &self, nb::handle array, int source, int tag,
               std::optional<double> timeout) {
    const Limit limit(timeout);
    const Buffer buffer(array, Buffer::Use::write, "buffer");
    stretto_message message{};
    self.handle->call([&](stretto_comm comm) {
        return stretto_recv(comm, buffer.data(), buffer.count(), buffer.dtype(), source, tag,
                            &message);
    });
    return tuple_of(message);
}

// `stream`: as the module says; `waits`: whether it waits for the end of the message.
Request isend(const Communicator &self, nb::handle array, int dest, int tag, StreamNumber stream,
              bool waits) {
    auto kept = std::make_shared<Buffer>(array, Buffer::Use::read, "buffer", stream);
    const Buffer &buffer = *kept;
    return begin(self.handle, kept, !stream || !waits, [&](stretto_comm comm, Pending &pending) {
        return in_order_of(stream, waits, [&] {
            return stretto_isend(comm, buffer.data(), buffer.count(), buffer.dtype(), dest, tag,
                                 &pending.request);
        });
    });
}

Request irecv(const Communicator &self, nb::handle array, int source, int tag, StreamNumber stream,
              bool waits) {
    auto kept = std::make_shared<Buffer>(array, Buffer::Use::write, "buffer", stream);
    const Buffer &buffer = *kept;
    return begin(self.handle, kept, !stream || !waits, [&](stretto_comm comm, Pending &pending) {
        pending.in_stream = stream.has_value();
        return in_order_of(stream, waits, [&] {
            return stretto_irecv(comm, buffer.data(), buffer.count(), buffer.dtype(), source, tag,
                                 &pending.message, &pending.request);
        });
    });
}

nb::tuple probe(const Communicator &self, int source, int tag, std::optional<double> timeout) {
    const Limit limit(timeout);
    stretto_message message{};
    self.handle->call(
        [&](stretto_comm comm) { return stretto_probe(comm, source, tag, &message); });
    return tuple_of(message);
}

nb::object iprobe(const Communicator &self, int source, int tag) {
    stretto_message message{};
    int found = 0;
    self.handle->call(
        [&](stretto_comm comm) { return stretto_iprobe(comm, source, tag, &found, &message); });
    return found != 0 ? nb::object(tuple_of(message)) : nb::none();
}

// A buffer with a part for each rank.  Without an array there are none: another rank has them.
struct Parts {
    Parts(nb::handle array, Buffer::Use use, const char *what, std::optional<Sizes> sizes,
          std::optional<Sizes> places, int ranks, StreamNumber stream) {
        if (array.is_none())
            return;
        buffer = Buffer(array, use, what, stream);
        const auto parts = static_cast<std::size_t>(ranks);
        if (!sizes || sizes->size() != parts || (places && places->size() != parts))
            refuse(std::string(what) + ": a count for each of " + std::to_string(ranks) +
                   " ranks is wanted, and as many displacements or none");
        counts = std::move(*sizes);
        displacements = places ? std::move(*places) : Sizes(parts, 0);
        if (!places)
            std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(),
                                std::size_t{0});
        for (std::size_t r = 0; r < parts; ++r)
            if (displacements[r] > buffer.count() || counts[r] > buffer.count() - displacements[r])
                refuse(std::string(what) + ": the part of rank " + std::to_string(r) + ", " +
                       std::to_string(counts[r]) + " elements from " +
                       std::to_string(displacements[r]) + " on, does not lie in an array of " +
                       std::to_string(buffer.count()));
    }
    bool here() const { return !counts.empty(); }
    const std::size_t *sizes() const { return here() ? counts.data() : nullptr; }
    const std::size_t *places() const { return here() ? displacements.data() : nullptr; }

    Buffer buffer;
    Sizes counts, displacements;
};

// gatherv: `own` is what this rank sends, `all` what the root receives; scatterv: the reverse.
// `own` None: in place.
struct Rooted {
    Buffer own;
    Parts all;
    bool in_place = false;
    stretto_dtype dtype() const { return in_place ? all.buffer.dtype() : own.dtype(); }
};

std::shared_ptr<Rooted> rooted(const Communicator &self, bool gathers, nb::handle own,
                               nb::handle all, std::optional<Sizes> counts,
                               std::optional<Sizes> displacements, StreamNumber stream) {
    auto what = std::make_shared<Rooted>(Rooted{
        Buffer(),
        Parts(all, gathers ? Buffer::Use::write : Buffer::Use::read, gathers ? "recv" : "send",
              std::move(counts), std::move(displacements), self.handle->size(), stream),
        own.is_none()});
    if (!what->in_place)
        what->own = Buffer(own, gathers ? Buffer::Use::read : Buffer::Use::write,
                           gathers ? "send" : "recv", stream);
    if (what->all.here() && !what->in_place && what->own.dtype() != what->all.buffer.dtype())
        refuse("send and recv hold elements of different types");
    return what;
}

Request gatherv(const Communicator &self, nb::handle own, nb::handle all,
                std::optional<Sizes> counts, std::optional<Sizes> displacements, int root,
                StreamNumber stream) {
    const auto kept =
        rooted(self, true, own, all, std::move(counts), std::move(displacements), stream);
    const Rooted &what = *kept;
    return begin(self.handle, kept, false, [&](stretto_comm comm, Pending &pending) {
        return in_order_of(stream, self.handle->streams_wait, [&] {
            return stretto_igatherv(comm, what.in_place ? STRETTO_IN_PLACE : what.own.data(),
                                    what.in_place ? 0 : what.own.count(), what.all.buffer.data(),
                                    what.all.sizes(), what.all.places(), what.dtype(), root,
                                    &pending.request);
        });
    });
}

Request scatterv(const Communicator &self, nb::handle own, nb::handle all,
                 std::optional<Sizes> counts, std::optional<Sizes> displacements, int root,
                 StreamNumber stream) {
    const auto kept =
        rooted(self, false, own, all, std::move(counts), std::move(displacements), stream);
    const Rooted &what = *kept;
    return begin(self.handle, kept, false, [&](stretto_comm comm, Pending &pending) {
        return in_order_of(stream, self.handle->streams_wait, [&] {
            return stretto_iscatterv(
                comm, what.all.buffer.data(), what.all.sizes(), what.all.places(),
                what.in_place ? const_cast<void *>(STRETTO_IN_PLACE) : what.own.data(),
                what.in_place ? 0 : what.own.count(), what.dtype(), root, &pending.request);
        });
    });
}

Request alltoallv(const Communicator &self, nb::handle send_array, std::optional<Sizes> send_counts,
                  std::optional<Sizes> send_displacements, nb::handle recv_array,
                  std::optional<Sizes> recv_counts, std::optional<Sizes> recv_displacements,
                  StreamNumber stream) {
    struct What {
        Parts send, recv;
    };
    const int size = self.handle->size();
    const auto kept = std::make_shared<What>(
        What{Parts(send_array, Buffer::Use::read, "send", std::move(send_counts),
                   std::move(send_displacements), size, stream),
             Parts(recv_array, Buffer::Use::write, "recv", std::move(recv_counts),
                   std::move(recv_displacements), size, stream)});
    const What &what = *kept;
    if (what.send.here() && what.send.buffer.dtype() != what.recv.buffer.dtype())
        refuse("send and recv hold elements of different types");
    if (what.send.here() && what.send.buffer.overlaps(what.recv.buffer))
        refuse("send and recv overlap; pass IN_PLACE as send to work in place");
    return begin(self.handle, kept, false, [&](stretto_comm comm, Pending &pending) {
        return in_order_of(stream, self.handle->streams_wait, [&] {
            return stretto_ialltoallv(
                comm, what.send.here() ? what.send.buffer.data() : STRETTO_IN_PLACE,
                what.send.sizes(), what.send.places(), what.recv.buffer.data(), what.recv.sizes(),
                what.recv.places(), what.recv.buffer.dtype(), &pending.request);
        });
    });
}

nb::object adopt(stretto_comm comm) {
    if (comm == nullptr)
        return nb::none();
    return nb::cast(Communicator{std::make_shared<Handle>(comm)});
}

nb::object split(const Communicator &self, int color, int key) {
    stretto_comm child = nullptr;
    self.handle->call(
        [&](stretto_comm comm) { return stretto_comm_split(comm, color, key, &child); });
    return adopt(child);
}

nb::object dup(const Communicator &self) {
    stretto_comm child = nullptr;
    self.handle->call([&](stretto_comm comm) { return stretto_comm_dup(comm, &child); });
    return adopt(child);
}

nb::object create_group(const Communicator &self, const std::vector<int> &ranks, int tag) {
    stretto_comm child = nullptr;
    self.handle->call([&](stretto_comm comm) {
        return stretto_comm_create(comm, ranks.data(), static_cast<int>(ranks.size()), tag, &child);
    });
    return adopt(child);
}

void abort(const Communicator &self, const char *reason) {
    self.handle->call([&](stretto_comm comm) { return stretto_comm_abort(comm, reason); });
}

nb::tuple shrink(const Communicator &self) {
    stretto_comm left = nullptr;
    std::uint64_t completed = 0;
    self.handle->call(
        [&](stretto_comm comm) { return stretto_comm_shrink(comm, &completed, &left); });
    return nb::make_tuple(adopt(left), completed);
}

int parent_rank(const Communicator &self, int rank) {
    int result = -1;
    self.handle->call([&](stretto_comm comm) {
        result = stretto_comm_parent_rank(comm, rank);
        return STRETTO_OK;
    });
    return result;
}

} // namespace

void bind_messages(nb::module_ &module, nb::class_<Communicator> &communicator) {
    module.attr("ANY_SOURCE") = STRETTO_ANY_SOURCE;
    module.attr("ANY_TAG") = STRETTO_ANY_TAG;
    module.attr("UNDEFINED") = STRETTO_UNDEFINED;
    communicator.def("send", &send, "buffer"_a, "dest"_a, "tag"_a, "timeout"_a = nb::none())
        .def("recv", &recv, "buffer"_a, "source"_a, "tag"_a, "timeout"_a = nb::none())
        .def("isend", &isend, "buffer"_a, "dest"_a, "tag"_a, "stream"_a = nb::none(),
             "waits"_a = true)
        .def("irecv", &irecv, "buffer"_a, "source"_a, "tag"_a, "stream"_a = nb::none(),
             "waits"_a = true)
        .def("probe", &probe, "source"_a, "tag"_a, "timeout"_a = nb::none())
        .def("iprobe", &iprobe, "source"_a, "tag"_a)
        .def("gatherv", &gatherv, "own"_a.none(), "all"_a.none(), "counts"_a.none(),
             "displacements"_a.none(), "root"_a, "stream"_a = nb::none())
        .def("scatterv", &scatterv, "own"_a.none(), "all"_a.none(), "counts"_a.none(),
             "displacements"_a.none(), "root"_a, "stream"_a = nb::none())
        .def("alltoallv", &alltoallv, "send"_a.none(), "send_counts"_a.none(),
             "send_displacements"_a.none(), "recv"_a, "recv_counts"_a,
             "recv_displacements"_a.none(), "stream"_a = nb::none())
        .def("split", &split, "color"_a, "key"_a)
        .def("dup", &dup)
        .def("create_group", &create_group, "ranks"_a, "tag"_a)
        .def("abort", &abort, "reason"_a)
        .def("shrink", &shrink)
        .def("parent_rank", &parent_rank, "rank"_a);
}

} // namespace stretto::python

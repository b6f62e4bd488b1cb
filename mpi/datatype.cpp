// SPDX-License-Identifier: BSD-3-Clause
#include "datatype.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "failure.hpp"
#include "stretto/embedding.h"

namespace stretto::mpi {

namespace {

// A type that is made of one other type: a duplicate of it, or a row of its elements.
struct Made {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    Handle of = 0;

    explicit Made(const MpiLibrary &host, Handle handle) {
        if (host.Type_get_envelope(handle, &integers, &addresses, &types, &combiner) != 0)
            combiner = -1;
        const Abi &abi = host.abi();
        if (combiner != abi.dup && combiner != abi.contiguous)
            return;
        int counts[1] = {0};
        std::intptr_t unused[1] = {0};
        if (host.Type_get_contents(handle, integers, addresses, types, counts, unused, &of) != 0)
            of = 0;
    }
};

// Whether the data of one element lie in order and without a gap from its first byte on.  False for
// types that are made in other ways: their parts may lie in any order.
bool is_dense(const MpiLibrary &host, Handle handle) {
    if (const Predefined *predefined = Names::get().datatype(handle))
        return predefined->size == predefined->extent;
    const Made made(host, handle);
    if (made.of == 0)
        return false;
    const bool dense = is_dense(host, made.of);
    int integers = 0, addresses = 0, types = 0, combiner = host.abi().named;
    Handle part = made.of;
    host.Type_get_envelope(part, &integers, &addresses, &types, &combiner);
    if (combiner != host.abi().named)
        host.Type_free(&part);
    return dense;
}

// The library counts bytes in an int, so a long buffer is packed in several pieces.
template<class Body>
void by_pieces(const Datatype &datatype, std::size_t count, Body &&body) {
    constexpr std::size_t kMost = std::size_t{1} << 30; // bytes
    const std::size_t size = std::max<std::size_t>(1, datatype.size);
    if (size > INT_MAX)
        throw Failure(STRETTO_ERR_UNSUPPORTED,
                      "an element of a datatype that is not contiguous has more than 2 GiB");
    const std::size_t piece = std::max<std::size_t>(1, kMost / size);
    for (std::size_t at = 0; at < count; at += piece) {
        const std::size_t elements = std::min(piece, count - at);
        body(at, static_cast<int>(std::min<std::size_t>(elements, INT_MAX)),
             static_cast<int>(elements * datatype.size));
    }
}

void require_success(int code) {
    if (code != 0)
        throw Failure(STRETTO_ERR_SYSTEM,
                      "the MPI library cannot pack a datatype (code " + std::to_string(code) + ")");
}

// Elements of a datatype in memory.  MPI_BOTTOM is null, which the packing of MPICH 4.0 takes for a
// missing buffer.  In this case they become one element of a type with a displacement, at another
// address.
class Place {
public:
    Place(const MpiLibrary &host, const void *buffer, int elements, Handle type,
          const void *elsewhere)
        : host_(host), buffer_(const_cast<void *>(buffer)), elements_(elements), type_(type) {
        if (buffer != nullptr)
            return;
        const std::intptr_t back = -reinterpret_cast<std::intptr_t>(elsewhere);
        require_success(host.Type_create_hindexed(1, &elements, &back, type, &made_));
        require_success(host.Type_commit(&made_));
        buffer_ = const_cast<void *>(elsewhere);
        elements_ = 1;
        type_ = made_;
    }
    ~Place() {
        if (made_ != 0)
            host_.Type_free(&made_);
    }
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;

    void *buffer() const { return buffer_; }
    int elements() const { return elements_; }
    Handle type() const { return type_; }

private:
    const MpiLibrary &host_;
    void *buffer_;
    int elements_;
    Handle type_, made_ = 0;
};

} // namespace

bool examine(Handle handle, Datatype &datatype) {
    const MpiLibrary &host = MpiLibrary::get();
    datatype = {};
    datatype.handle = handle;
    if ((datatype.predefined = Names::get().datatype(handle)) != nullptr) [[likely]] {
        datatype.size = datatype.predefined->size;
        datatype.extent = static_cast<std::ptrdiff_t>(datatype.predefined->extent);
        datatype.dense = datatype.size == datatype.predefined->extent;
        return datatype.size != 0;
    }
    std::int64_t size = 0;
    std::intptr_t lowest = 0, extent = 0;
    if (handle == host.abi().datatype_null || handle == 0 || host.Type_size_x(handle, &size) != 0 ||
        size < 0 || host.Type_get_extent(handle, &lowest, &extent) != 0)
        return false;
    datatype.size = static_cast<std::size_t>(size);
    datatype.extent = extent;
    datatype.dense = size == extent && lowest == 0 && is_dense(host, handle);
    return true;
}

Dense::Dense(const Datatype &datatype, std::size_t count, void *buffer, Use use)
    : datatype_(datatype), buffer_(buffer), data_(buffer) {
    if (datatype.dense) [[likely]]
        return;
    if (stretto_on_device(buffer) != 0)
        throw Failure(STRETTO_ERR_ARGUMENT,
                      "a buffer in device memory has a datatype with gaps, which Stretto takes in "
                      "host memory only; STRETTO_MPI=none leaves all calls to the MPI library");
    // Never null, since null means that there is no buffer.
    copy_.reset(new std::byte[std::max<std::size_t>(1, count * datatype.size)]);
    data_ = copy_.get();
    if (use != Use::write)
        pack(datatype_, buffer_, count, data_);
}

void Dense::keep_from(std::size_t bytes, const void *result, std::size_t result_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(data_);
    const auto other = reinterpret_cast<std::uintptr_t>(result);
    if (copy_ != nullptr ||
        (first <= other ? other - first >= bytes : first - other >= result_bytes) ||
        stretto_on_device(data_) != 0) // the library says what is wrong
        return;
    copy_.reset(new std::byte[std::max<std::size_t>(1, bytes)]);
    std::memcpy(copy_.get(), data_, bytes);
    data_ = copy_.get();
}

void Dense::unpack(std::size_t count) const {
    if (copy_ != nullptr)
        mpi::unpack(datatype_, data_, count, buffer_);
}

void pack(const Datatype &datatype, const void *buffer, std::size_t count, void *packed) {
    const MpiLibrary &host = MpiLibrary::get();
    by_pieces(datatype, count, [&](std::size_t first, int elements, int bytes) {
        const auto *const from = static_cast<const std::byte *>(buffer) +
                                 static_cast<std::ptrdiff_t>(first) * datatype.extent;
        auto *const to = static_cast<std::byte *>(packed) + first * datatype.size;
        const Place place(host, from, elements, datatype.handle, packed);
        int position = 0;
        require_success(host.Pack(place.buffer(), place.elements(), place.type(), to, bytes,
                                  &position, host.abi().comm_self));
    });
}

void unpack(const Datatype &datatype, const void *packed, std::size_t count, void *buffer) {
    const MpiLibrary &host = MpiLibrary::get();
    by_pieces(datatype, count, [&](std::size_t first, int elements, int bytes) {
        const auto *const from = static_cast<const std::byte *>(packed) + first * datatype.size;
        auto *const to =
            static_cast<std::byte *>(buffer) + static_cast<std::ptrdiff_t>(first) * datatype.extent;
        const Place place(host, to, elements, datatype.handle, packed);
        int position = 0;
        require_success(host.Unpack(from, bytes, &position, place.buffer(), place.elements(),
                                    place.type(), host.abi().comm_self));
    });
}

} // namespace stretto::mpi

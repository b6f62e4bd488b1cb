// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/registered_memory.hpp"

#include <string>
#include <utility>

namespace stretto::transport::ucp {

RegisteredMemory::RegisteredMemory(std::shared_ptr<const OwnedContext> context, std::byte *first,
                                   std::size_t bytes, MemoryUse use)
    : context_(std::move(context)), bytes_(bytes), use_(use) {
    MemoryParameters parameters;
    parameters.set = MemoryParameters::kAddressFlag | MemoryParameters::kLengthFlag |
                     MemoryParameters::kMemoryTypeFlag;
    parameters.address = first;
    parameters.length = bytes;
    const Library &library = context_->library();
    library.check(library.memory_map(context_->get(), &parameters, &memory_),
                  "register " + std::to_string(bytes >> 10) + " KiB of memory");
    context_->note_registered(use_, static_cast<std::ptrdiff_t>(bytes));
}

RegisteredMemory::~RegisteredMemory() {
    (void)context_->library().memory_unmap(context_->get(), memory_);
    context_->note_registered(use_, -static_cast<std::ptrdiff_t>(bytes_));
}

std::vector<std::byte> RegisteredMemory::key() const {
    const Library &library = context_->library();
    void *packed = nullptr;
    std::size_t length = 0;
    library.check(library.key_pack(context_->get(), memory_, &packed, &length),
                  "give the key of registered memory");
    const auto *const first = static_cast<const std::byte *>(packed);
    std::vector<std::byte> bytes(first, first + length);
    library.key_release(packed);
    return bytes;
}

} // namespace stretto::transport::ucp

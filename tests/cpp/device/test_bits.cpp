// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the module, launched by the driver, give the bits of the CPU's passes.  This runs
// on a GPU as well; test_kernels.cpp tries more on the CPU.
#include "doctest.h"

#include <cstring>
#include <vector>

#include "device/cuda.hpp"
#include "device/cuda_kernels.hpp"
#include "device/on_device.hpp"
#include "reduce/kernels.hpp"
#include "reduce/reference.hpp"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr std::size_t kElements = 40'009, kRoomBytes = kElements * 16 + 64;
constexpr std::size_t kOperands = 3, kResults = 2;

template<class T>
void check_pass(device::CudaKernels &kernels, ::test::OnDevice &device,
                const std::vector<std::byte *> &memory, ReduceOp op, reduce::Rounding rounding,
                std::size_t offset) {
    const engine::Kernel kernel{true, dtype_of<T>(), op, rounding,
                                reduce::pass(dtype_of<T>(), op, rounding)};
    device::CUfunction const function = kernels.find(kernel);
    REQUIRE(function != nullptr);
    std::vector<std::vector<std::byte>> operands;
    std::vector<const void *> host, ins;
    std::vector<void *> outs;
    for (std::size_t k = 0; k < memory.size(); ++k) {
        // Of the last one the address differs from the others'.
        std::byte *const at = memory[k] + offset + (k + 1 == memory.size() ? sizeof(T) : 0);
        if (k >= kOperands) {
            outs.push_back(at);
            continue;
        }
        std::vector<T> values(kElements);
        for (std::size_t i = 0; i < kElements; ++i)
            values[i] = element<T>(i, static_cast<int>(k), kOperands);
        operands.push_back(bytes_of(values));
        device.copy(at, operands[k].data(), operands[k].size());
        host.push_back(operands[k].data());
        ins.push_back(at);
    }
    const std::size_t bytes = kElements * sizeof(T);
    std::vector<std::byte> expected(bytes), found(bytes);
    void *to = expected.data();
    kernel.pass(&to, 1, host.data(), kOperands, kElements, 0);
    kernels.launch(function, kernel, outs, ins, bytes, nullptr);
    device::check_cuda(*device::cuda(), device::cuda()->synchronize(nullptr),
                       "cuStreamSynchronize");
    for (void *const out : outs) {
        device.copy(found.data(), static_cast<const std::byte *>(out), bytes);
        const bool same = found == expected;
        CHECK_MESSAGE(same, name(dtype_of<T>()), ", ", name(op), ", rounding ",
                      static_cast<int>(rounding), ", at ", offset);
    }
}

template<class T>
void check_map(device::CudaKernels &kernels, ::test::OnDevice &device, std::byte *memory,
               reduce::Mapping mapping) {
    const reduce::ElementMap map{mapping, dtype_of<T>(), nullptr};
    const reduce::Map expected = reduce::map(mapping, dtype_of<T>());
    REQUIRE((kernels.find(map) == nullptr) == (expected == nullptr));
    if (expected == nullptr)
        return;
    const double divisor = 3;
    const T factor = element<T>(5, 1, kOperands);
    const void *const constant =
        mapping == reduce::Mapping::divide ? static_cast<const void *>(&divisor) : &factor;
    std::vector<T> values(kElements);
    for (std::size_t i = 0; i < kElements; ++i)
        values[i] = element<T>(i, 0, kOperands);
    std::vector<std::byte> host = bytes_of(values), found(host.size());
    device.copy(memory, host.data(), host.size());
    kernels.launch({mapping, dtype_of<T>(), constant}, memory, kElements, nullptr);
    device::check_cuda(*device::cuda(), device::cuda()->synchronize(nullptr),
                       "cuStreamSynchronize");
    device.copy(found.data(), memory, found.size());
    expected(host.data(), host.data(), kElements, constant);
    const bool same = found == host;
    CHECK_MESSAGE(same, name(dtype_of<T>()), ", mapping ", static_cast<int>(mapping));
}

} // namespace

TEST_CASE("kernels of the module give the bits of the CPU") {
    ::test::OnDevice device;
    REQUIRE(device::find_cuda());
    std::vector<std::byte *> memory;
    for (std::size_t k = 0; k < kOperands + kResults; ++k)
        memory.push_back(device.allocate(kRoomBytes, true));
    device::CudaKernels kernels(*device::cuda());
    kernels.load_all();
    for (int d = 0; d < kDtypes; ++d)
        with_type(static_cast<Dtype>(d), [&]<class T>(T) {
            for (const ReduceOp op : ops_of(dtype_of<T>()))
                for (const auto rounding : {reduce::Rounding::once, reduce::Rounding::each})
                    for (const std::size_t offset : {std::size_t{0}, sizeof(T)})
                        check_pass<T>(kernels, device, memory, op, rounding, offset);
            for (const auto mapping :
                 {reduce::Mapping::multiply, reduce::Mapping::divide, reduce::Mapping::truth})
                for (const std::size_t offset : {std::size_t{0}, sizeof(T)})
                    check_map<T>(kernels, device, memory[0] + offset, mapping);
        });
    for (std::byte *const each : memory)
        device.free(each);
}

// SPDX-License-Identifier: BSD-3-Clause
// Passes whose buffers are all on the device are reduced there, by a kernel; others by the CPU.
#include "doctest.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda_executor.hpp"
#include "device/kernels/arguments.hpp"
#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "reduce/kernels.hpp"

using namespace stretto;
using simulated_cuda::Counts;

namespace {

constexpr std::size_t kElements = 100'003, kBytes = kElements * sizeof(float);

// As many vectors on the device, and what they sum up to.
class Vectors {
public:
    Vectors(test::OnDevice &device, std::size_t operands, std::size_t results)
        : device_(device), sum_(kElements) {
        for (std::size_t k = 0; k < operands + results; ++k)
            on_device_.push_back(device.allocate(kBytes, true));
        for (std::size_t k = 0; k < operands; ++k) {
            host_.emplace_back(kElements);
            for (std::size_t i = 0; i < kElements; ++i)
                host_[k][i] = static_cast<float>(i % 1000) + 0.125f * static_cast<float>(k);
            device.copy(on_device_[k], reinterpret_cast<const std::byte *>(host_[k].data()),
                        kBytes);
            ins.push_back(on_device_[k]);
        }
        device.settle();
        outs.assign(on_device_.begin() + static_cast<std::ptrdiff_t>(operands), on_device_.end());
        std::vector<const void *> all;
        for (const auto &each : host_)
            all.push_back(each.data());
        void *to = sum_.data();
        kernel.pass(&to, 1, all.data(), static_cast<int>(all.size()), kElements, 0);
    }
    ~Vectors() {
        for (std::byte *const each : on_device_)
            device_.free(each);
    }
    const float *host(std::size_t operand) const { return host_[operand].data(); }
    bool right(const void *result) {
        std::vector<float> found(kElements);
        device_.copy(reinterpret_cast<std::byte *>(found.data()),
                     static_cast<const std::byte *>(result), kBytes);
        return found == sum_;
    }
    // Performs the pass.  The error, if it fails.
    std::optional<Error> perform() {
        const engine::Work work{outs, ins, kBytes, kernel};
        engine::Completion completion;
        completion.arm();
        device::CudaExecutor &executor = device::cuda_executor();
        if (executor.issue(work, completion) == engine::Executor::Issued::pending)
            executor.wait(completion);
        else
            completion.complete();
        return completion.error();
    }

    std::vector<void *> outs;
    std::vector<const void *> ins;
    engine::Kernel kernel{true, Dtype::f32, ReduceOp::sum, reduce::Rounding::once,
                          reduce::pass(Dtype::f32, ReduceOp::sum)};

private:
    test::OnDevice &device_;
    std::vector<std::byte *> on_device_;
    std::vector<std::vector<float>> host_;
    std::vector<float> sum_;
};

Counts counts_of(std::optional<Error> (*perform)(Vectors &), Vectors &vectors) {
    simulated_cuda::simulated_cuda_reset();
    CHECK_FALSE(perform(vectors));
    Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts;
}

std::optional<Error> perform(Vectors &vectors) {
    return vectors.perform();
}

} // namespace

TEST_CASE("a pass on the device is one kernel") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    Vectors vectors(device, 5, 3);
    for (int turn = 0; turn < 2; ++turn) {
        const Counts counts = counts_of(perform, vectors);
        CHECK(counts.launches == 1);
        CHECK(counts.kernel_bytes == 8 * kBytes);
        CHECK(counts.copies == 0);
        CHECK(counts.events == (turn == 0 ? 1 : 0));
    }
    for (const void *const out : vectors.outs)
        CHECK(vectors.right(out));
}

TEST_CASE("passes that follow one another begin together, as one kernel") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    Vectors vectors(device, 3, 2);
    device::CudaExecutor &executor = device::cuda_executor();
    using Range = std::pair<std::size_t, std::size_t>; // first element and end
    const auto launches = [&](const std::vector<Range> &ranges) {
        std::vector<engine::Completion> completions(ranges.size());
        simulated_cuda::simulated_cuda_reset();
        for (std::size_t k = 0; k < ranges.size(); ++k) {
            const auto [first, end] = ranges[k];
            std::vector<void *> outs;
            std::vector<const void *> ins;
            for (void *const out : vectors.outs)
                outs.push_back(static_cast<float *>(out) + first);
            for (const void *const in : vectors.ins)
                ins.push_back(static_cast<const float *>(in) + first);
            completions[k].arm();
            CHECK(executor.issue({.outs = outs,
                                  .ins = ins,
                                  .bytes = (end - first) * sizeof(float),
                                  .kernel = vectors.kernel,
                                  .may_gather = true},
                                 completions[k]) == engine::Executor::Issued::pending);
        }
        Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        CHECK(counts.launches == 0);
        executor.start_issued();
        simulated_cuda::simulated_cuda_counts(&counts);
        for (engine::Completion &each : completions) {
            executor.wait(each);
            CHECK_FALSE(each.error());
        }
        return counts.launches;
    };
    CHECK(launches({{0, 1001}, {1001, 50'000}, {50'000, kElements}}) == 1);
    for (const void *const out : vectors.outs)
        CHECK(vectors.right(out));
    CHECK(launches({{0, 1001}, {50'000, kElements}, {1001, 50'000}}) == 2); // not one before
    CHECK(launches({{0, 1000}, {1001, 50'000}, {2, 50}}) == 3);
}

TEST_CASE("a pass with an operand or a result in host memory is the CPU's") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    Vectors vectors(device, 3, 1);
    vectors.ins[1] = vectors.host(1);
    Counts counts = counts_of(perform, vectors);
    CHECK(counts.launches == 0);
    CHECK(counts.from_device_bytes == 2 * kBytes);
    CHECK(vectors.right(vectors.outs[0]));

    std::vector<float> here(kElements);
    Vectors others(device, 2, 2);
    void *const there = std::exchange(others.outs[0], here.data());
    counts = counts_of(perform, others);
    CHECK(counts.launches == 0);
    CHECK(others.right(others.outs[1]));
    device.copy(static_cast<std::byte *>(there), reinterpret_cast<const std::byte *>(here.data()),
                kBytes);
    CHECK(others.right(there));
}

TEST_CASE("a pass of more buffers than a kernel takes is the CPU's") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    Vectors vectors(device, 2, 1);
    for (int more = 0; more < device::kMostPassPointers - 2; ++more)
        vectors.outs.push_back(vectors.outs[0]);
    CHECK(counts_of(perform, vectors).launches == 0);
    CHECK(vectors.right(vectors.outs[0]));
    vectors.outs.pop_back();
    CHECK(counts_of(perform, vectors).launches == 1);
}

TEST_CASE("a map in place is one kernel") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    device::CudaExecutor &executor = device::cuda_executor();
    std::byte *const memory = device.allocate(kBytes, true);
    const double ranks = 3;
    const float factor = 0.3f;
    const std::pair<reduce::Mapping, const void *> maps[] = {{reduce::Mapping::divide, &ranks},
                                                             {reduce::Mapping::multiply, &factor}};
    std::vector<float> values(kElements), found(kElements);
    for (const auto &[mapping, constant] : maps)
        for (const std::size_t skipped : {0, 1, 3}) { // elements, so it is aligned or not
            CAPTURE(skipped);
            for (std::size_t i = 0; i < kElements; ++i)
                values[i] = static_cast<float>(i % 1000) - 500.25f;
            device.copy(memory, reinterpret_cast<const std::byte *>(values.data()), kBytes);
            device.settle();
            const reduce::ElementMap map{mapping, Dtype::f32, constant};
            REQUIRE(executor.maps(memory, map));
            simulated_cuda::simulated_cuda_reset();
            executor.map(memory + skipped * sizeof(float), kElements - skipped, map);
            Counts counts;
            simulated_cuda::simulated_cuda_counts(&counts);
            CHECK(counts.launches == 1);
            CHECK(counts.copies == 0);
            reduce::map(mapping, Dtype::f32)(values.data() + skipped, values.data() + skipped,
                                             kElements - skipped, constant);
            device.copy(reinterpret_cast<std::byte *>(found.data()), memory, kBytes);
            CHECK(found == values);
        }
    CHECK_FALSE(executor.maps(values.data(), {reduce::Mapping::divide, Dtype::f32, &ranks}));
    CHECK_FALSE(executor.maps(memory, {reduce::Mapping::divide, Dtype::i32, &ranks}));
    simulated_cuda::simulated_cuda_fail(0, 700);
    CHECK_THROWS_WITH_AS(
        executor.map(memory, kElements, {reduce::Mapping::divide, Dtype::f32, &ranks}),
        doctest::Contains("cuLaunchKernel of a map: CUDA_ERROR_ILLEGAL_ADDRESS"), Error);
    simulated_cuda::simulated_cuda_fail(0, 0);
    device.free(memory);
}

TEST_CASE("a kernel that fails is an error of its pass") {
    test::OnDevice device;
    REQUIRE(device::find_cuda());
    Vectors vectors(device, 2, 1);
    simulated_cuda::simulated_cuda_fail(0, 700);
    const std::optional<Error> error = vectors.perform();
    simulated_cuda::simulated_cuda_fail(0, 0);
    REQUIRE(error);
    CHECK(std::string(error->what())
              .find("cuLaunchKernel of a reduction: CUDA_ERROR_ILLEGAL_ADDRESS") !=
          std::string::npos);
    CHECK_FALSE(vectors.perform());
    CHECK(vectors.right(vectors.outs[0]));
}

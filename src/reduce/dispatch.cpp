// SPDX-License-Identifier: BSD-3-Clause
// Chooses the kernels that this processor runs.
#include "reduce/kernels.hpp"

#include <algorithm>
#include <array>
#include <string>

#if defined(STRETTO_WIDE_KERNELS)
#include <cpuid.h>
#endif

#include "base/lazy.hpp"
#include "base/status.hpp"
#include "reduce/table.hpp"

namespace stretto::reduce {

static constexpr std::array kNarrowToWide{Isa::baseline, Isa::avx2, Isa::avx512};

std::string_view name(Isa isa) {
    constexpr std::string_view names[] = {"baseline", "avx2", "avx512"};
    return names[static_cast<int>(isa)];
}

#if defined(STRETTO_WIDE_KERNELS)
// F16C, the conversion of 16-bit floats: not every compiler's __builtin_cpu_supports knows it.
static bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static bool has_avx2() {
    return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && has_f16c();
}

static constinit Lazy<bool> avx2, avx512;
#endif

// Null where the processor lacks the instruction set.
static const Table *table(Isa isa) {
#if defined(STRETTO_WIDE_KERNELS)
    if (isa == Isa::avx512)
        return avx512.get(has_avx512) ? &avx512_table : nullptr;
    if (isa == Isa::avx2)
        return avx2.get(has_avx2) ? &avx2_table : nullptr;
#endif
    return isa == Isa::baseline ? &baseline_table : nullptr;
}

bool built([[maybe_unused]] Isa isa) {
#if defined(STRETTO_WIDE_KERNELS)
    return true;
#else
    return isa == Isa::baseline;
#endif
}

bool available(Isa isa) {
    return table(isa) != nullptr;
}

Isa widest_isa(std::string_view limit) {
    Isa widest = Isa::baseline;
    for (const Isa isa : kNarrowToWide) {
        if (available(isa))
            widest = isa;
        if (name(isa) == limit)
            return widest;
    }
    if (!limit.empty())
        throw Error(Status::argument, "STRETTO_ISA is '" + std::string(limit) +
                                          "'; it takes baseline, avx2 or avx512, or leave it unset "
                                          "for the widest that the processor has");
    return widest;
}

static constinit Lazy<Isa> best;

void limit_isa(std::string_view limit) {
    (void)best.get([&] { return widest_isa(limit); });
}

Isa best_isa() {
    return best.get([] { return widest_isa(""); });
}

Pass pass(Dtype dtype, ReduceOp op, Rounding rounding, Isa isa) {
    if (is_user_defined(op) || !supports(dtype, op))
        return nullptr;
    if (op == ReduceOp::avg || op == ReduceOp::premul_sum)
        op = ReduceOp::sum;
    const Table *const kernels = table(isa);
    return kernels ? kernels->reduce[static_cast<int>(rounding)][static_cast<int>(dtype)]
                                    [static_cast<int>(op)]
                   : nullptr;
}

Pass copy_pass(Isa isa) {
    const Table *const kernels = table(isa);
    return kernels ? kernels->copy : nullptr;
}

Map map(Mapping mapping, Dtype dtype, Isa isa) {
    const Table *const kernels = table(isa);
    return kernels ? kernels->map[static_cast<int>(mapping)][static_cast<int>(dtype)] : nullptr;
}

} // namespace stretto::reduce

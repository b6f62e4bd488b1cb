// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/strings.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/lazy.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STRETTO_STRINGS
#include <cpuid.h>
#endif

namespace stretto::reduce {

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kBlockBytes = 16384; // stays in the cache until it is copied

#if defined(STRETTO_STRINGS)
bool has_fast_strings() {
    constexpr unsigned kErmsFlag = 1u << 9;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kErmsFlag) != 0;
}

void move_string(void *out, const void *in, std::size_t bytes) {
    asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
}
#else
bool has_fast_strings() {
    return false;
}

void move_string(void *out, const void *in, std::size_t bytes) {
    std::memcpy(out, in, bytes);
}
#endif

// Begins at a cache line of the output if possible.
void copy_string(void *out, const void *in, std::size_t bytes) {
    const std::size_t lead = std::min(bytes, -reinterpret_cast<std::uintptr_t>(out) % kLineBytes);
    std::memcpy(out, in, lead);
    move_string(static_cast<std::byte *>(out) + lead, static_cast<const std::byte *>(in) + lead,
                bytes - lead);
}

constinit Lazy<bool> use;
constinit Lazy<Pass> vector_copy;

} // namespace

void allow_string_copies(bool allowed) {
    (void)use.get([&] { return allowed && has_fast_strings(); });
}

bool string_copies() {
    return use.get([] { return has_fast_strings(); });
}

void copy_by_strings(void *const *out, int outs, const void *const *in, int ins, std::size_t bytes,
                     std::uint32_t streaming) {
    const Pass vectors = vector_copy.get([] { return copy_pass(); });
    if (streaming != 0 || out[0] == in[0])
        return vectors(out, outs, in, ins, bytes, streaming);
    const std::size_t block = outs == 1 ? bytes : kBlockBytes;
    for (std::size_t at = 0; at < bytes; at += block)
        for (int j = 0; j < outs; ++j)
            copy_string(static_cast<std::byte *>(out[j]) + at,
                        static_cast<const std::byte *>(in[0]) + at, std::min(block, bytes - at));
}

void pass_to_string(Pass pass, std::size_t element, void **out, int outs, const void **in, int ins,
                    std::size_t count) {
    static_assert(kBlockBytes % size_of(Dtype::c128) == 0);
    alignas(kLineBytes) std::byte aside[kBlockBytes];
    std::byte *shared = static_cast<std::byte *>(out[--outs]);
    for (std::size_t left = count * element; left > 0;) {
        const std::size_t bytes = std::min(kBlockBytes, left);
        void *alone = aside; // if no other output needs the values
        void *const *const to = outs == 0 ? &alone : out;
        pass(to, std::max(outs, 1), in, ins, bytes / element, 0);
        copy_string(shared, to[0], bytes);
        left -= bytes;
        shared += bytes;
        for (int j = 0; j < outs; ++j)
            out[j] = static_cast<std::byte *>(out[j]) + bytes;
        for (int k = 0; k < ins; ++k)
            in[k] = static_cast<const std::byte *>(in[k]) + bytes;
    }
}

} // namespace stretto::reduce

// SPDX-License-Identifier: BSD-3-Clause
// All kernels.  STRETTO_PASSES(PASS): PASS(name, element, operation) for each; STRETTO_MAPS(MAP):
// MAP(name, function).  Sums and products that wrap are the same for signed and unsigned types, and
// bitwise operations for all sizes.  kernel_names.cpp finds the name of each type and operation.

#define STRETTO_ADDING(PASS, name, ...)                                                            \
    PASS(name##_sum, (__VA_ARGS__), Sum) PASS(name##_prod, (__VA_ARGS__), Product)
#define STRETTO_ORDERING(PASS, name, ...)                                                          \
    PASS(name##_min, (__VA_ARGS__), Minimum) PASS(name##_max, (__VA_ARGS__), Maximum)
#define STRETTO_BITWISE(PASS, name, ...)                                                           \
    PASS(name##_and, (__VA_ARGS__), And)                                                           \
    PASS(name##_or, (__VA_ARGS__), Or)                                                             \
    PASS(name##_xor, (__VA_ARGS__), Xor)

#define STRETTO_PASSES(PASS)                                                                       \
    STRETTO_ADDING(PASS, u8, Plain<std::uint8_t>)                                                  \
    STRETTO_ADDING(PASS, u16, Plain<std::uint16_t>)                                                \
    STRETTO_ADDING(PASS, u32, Plain<std::uint32_t>)                                                \
    STRETTO_ADDING(PASS, u64, Plain<std::uint64_t>)                                                \
    STRETTO_ADDING(PASS, f16, Short<Float16>)                                                      \
    STRETTO_ADDING(PASS, bf16, Short<Bfloat16>)                                                    \
    STRETTO_ADDING(PASS, f16_each, EachRounded<Short<Float16>>)                                    \
    STRETTO_ADDING(PASS, bf16_each, EachRounded<Short<Bfloat16>>)                                  \
    STRETTO_ADDING(PASS, f32, Plain<float>)                                                        \
    STRETTO_ADDING(PASS, f64, Plain<double>)                                                       \
    PASS(c64_prod, (Plain<float, 8>), ComplexProduct)                                              \
    PASS(c128_prod, (Plain<double, 16>), ComplexProduct)                                           \
    STRETTO_ORDERING(PASS, i8, Plain<std::int8_t>)                                                 \
    STRETTO_ORDERING(PASS, i16, Plain<std::int16_t>)                                               \
    STRETTO_ORDERING(PASS, i32, Plain<std::int32_t>)                                               \
    STRETTO_ORDERING(PASS, i64, Plain<std::int64_t>)                                               \
    STRETTO_ORDERING(PASS, u8, Plain<std::uint8_t>)                                                \
    STRETTO_ORDERING(PASS, u16, Plain<std::uint16_t>)                                              \
    STRETTO_ORDERING(PASS, u32, Plain<std::uint32_t>)                                              \
    STRETTO_ORDERING(PASS, u64, Plain<std::uint64_t>)                                              \
    STRETTO_ORDERING(PASS, f16, Short<Float16>)                                                    \
    STRETTO_ORDERING(PASS, bf16, Short<Bfloat16>)                                                  \
    STRETTO_ORDERING(PASS, f32, Plain<float>)                                                      \
    STRETTO_ORDERING(PASS, f64, Plain<double>)                                                     \
    STRETTO_BITWISE(PASS, bits, Plain<std::uint32_t, 1>)                                           \
    STRETTO_BITWISE(PASS, truth8, Truth<std::uint8_t>)                                             \
    STRETTO_BITWISE(PASS, truth16, Truth<std::uint16_t>)                                           \
    STRETTO_BITWISE(PASS, truth32, Truth<std::uint32_t>)                                           \
    STRETTO_BITWISE(PASS, truth64, Truth<std::uint64_t>)

#define STRETTO_MAPS(MAP)                                                                          \
    MAP(u8_times, (multiply<Plain<std::uint8_t>, Product>))                                        \
    MAP(u16_times, (multiply<Plain<std::uint16_t>, Product>))                                      \
    MAP(u32_times, (multiply<Plain<std::uint32_t>, Product>))                                      \
    MAP(u64_times, (multiply<Plain<std::uint64_t>, Product>))                                      \
    MAP(f16_times, (multiply<Short<Float16>, Product>))                                            \
    MAP(bf16_times, (multiply<Short<Bfloat16>, Product>))                                          \
    MAP(f32_times, (multiply<Plain<float>, Product>))                                              \
    MAP(f64_times, (multiply<Plain<double>, Product>))                                             \
    MAP(c64_times, (multiply<Plain<float, 8>, ComplexProduct>))                                    \
    MAP(c128_times, (multiply<Plain<double, 16>, ComplexProduct>))                                 \
    MAP(f16_over, (divide<Short<Float16>>))                                                        \
    MAP(bf16_over, (divide<Short<Bfloat16>>))                                                      \
    MAP(f32_over, (divide<Plain<float>>))                                                          \
    MAP(f64_over, (divide<Plain<double>>))                                                         \
    MAP(truth8, (itself<Truth<std::uint8_t>>))                                                     \
    MAP(truth16, (itself<Truth<std::uint16_t>>))                                                   \
    MAP(truth32, (itself<Truth<std::uint32_t>>))                                                   \
    MAP(truth64, (itself<Truth<std::uint64_t>>))

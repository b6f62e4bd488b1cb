// SPDX-License-Identifier: BSD-3-Clause
#include "predefined.hpp"

#include <initializer_list>
#include <utility>

namespace stretto::mpi {

struct Names::Row {
    const char *name;
    Class what;
    bool is_signed;
    bool fortran;
    const char *open_mpi;          // the variable whose address is the handle
    std::uint32_t mpich, standard; // 0: there is none
};

// The handles of Open MPI are those of its mpi.h, of MPICH those on which the ABI initiative of its
// relatives has agreed (mpi.h of MPICH 3.1 and later, Intel MPI), of the standard MPI 5.0, A.1.1.
using enum Class;
const Names::Row Names::kRows[] = {
    {"MPI_CHAR", opaque, true, false, "ompi_mpi_char", 0x4c000101, 0x243},
    {"MPI_SIGNED_CHAR", integer, true, false, "ompi_mpi_signed_char", 0x4c000118, 0x244},
    {"MPI_UNSIGNED_CHAR", integer, false, false, "ompi_mpi_unsigned_char", 0x4c000102, 0x245},
    {"MPI_BYTE", byte, false, false, "ompi_mpi_byte", 0x4c00010d, 0x247},
    {"MPI_PACKED", opaque, false, false, "ompi_mpi_packed", 0x4c00010f, 0x207},
    {"MPI_WCHAR", opaque, false, false, "ompi_mpi_wchar", 0x4c00040e, 0x23c},
    {"MPI_SHORT", integer, true, false, "ompi_mpi_short", 0x4c000203, 0x208},
    {"MPI_UNSIGNED_SHORT", integer, false, false, "ompi_mpi_unsigned_short", 0x4c000204, 0x20c},
    {"MPI_INT", integer, true, false, "ompi_mpi_int", 0x4c000405, 0x209},
    {"MPI_UNSIGNED", integer, false, false, "ompi_mpi_unsigned", 0x4c000406, 0x20d},
    {"MPI_LONG", integer, true, false, "ompi_mpi_long", 0x4c000807, 0x20a},
    {"MPI_UNSIGNED_LONG", integer, false, false, "ompi_mpi_unsigned_long", 0x4c000808, 0x20e},
    {"MPI_LONG_LONG", integer, true, false, "ompi_mpi_long_long_int", 0x4c000809, 0x20b},
    {"MPI_UNSIGNED_LONG_LONG", integer, false, false, "ompi_mpi_unsigned_long_long", 0x4c000819,
     0x20f},
    {"MPI_INT8_T", integer, true, false, "ompi_mpi_int8_t", 0x4c000137, 0x240},
    {"MPI_INT16_T", integer, true, false, "ompi_mpi_int16_t", 0x4c000238, 0x248},
    {"MPI_INT32_T", integer, true, false, "ompi_mpi_int32_t", 0x4c000439, 0x250},
    {"MPI_INT64_T", integer, true, false, "ompi_mpi_int64_t", 0x4c00083a, 0x258},
    {"MPI_UINT8_T", integer, false, false, "ompi_mpi_uint8_t", 0x4c00013b, 0x241},
    {"MPI_UINT16_T", integer, false, false, "ompi_mpi_uint16_t", 0x4c00023c, 0x249},
    {"MPI_UINT32_T", integer, false, false, "ompi_mpi_uint32_t", 0x4c00043d, 0x251},
    {"MPI_UINT64_T", integer, false, false, "ompi_mpi_uint64_t", 0x4c00083e, 0x259},
    {"MPI_AINT", other_integer, true, false, "ompi_mpi_aint", 0x4c000843, 0x201},
    {"MPI_OFFSET", other_integer, true, false, "ompi_mpi_offset", 0x4c000844, 0x203},
    {"MPI_COUNT", other_integer, true, false, "ompi_mpi_count", 0x4c000845, 0x202},
    {"MPI_FLOAT", floating, true, false, "ompi_mpi_float", 0x4c00040a, 0x210},
    {"MPI_DOUBLE", floating, true, false, "ompi_mpi_double", 0x4c00080b, 0x214},
    {"MPI_LONG_DOUBLE", floating, true, false, "ompi_mpi_long_double", 0x4c00100c, 0x220},
    {"MPI_C_BOOL", logical, false, false, "ompi_mpi_c_bool", 0x4c00013f, 0x238},
    {"MPI_CXX_BOOL", logical, false, false, "ompi_mpi_cxx_bool", 0x4c000133, 0x239},
    {"MPI_C_FLOAT_COMPLEX", complex, true, false, "ompi_mpi_c_float_complex", 0x4c000840, 0x212},
    {"MPI_C_DOUBLE_COMPLEX", complex, true, false, "ompi_mpi_c_double_complex", 0x4c001041, 0x216},
    {"MPI_C_LONG_DOUBLE_COMPLEX", complex, true, false, "ompi_mpi_c_long_double_complex",
     0x4c002042, 0x224},
    {"MPI_CXX_FLOAT_COMPLEX", complex, true, false, "ompi_mpi_cxx_cplex", 0x4c000834, 0x213},
    {"MPI_CXX_DOUBLE_COMPLEX", complex, true, false, "ompi_mpi_cxx_dblcplex", 0x4c001035, 0x217},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", complex, true, false, "ompi_mpi_cxx_ldblcplex", 0x4c002036,
     0x225},
    {"MPI_FLOAT_INT", pair, true, false, "ompi_mpi_float_int", 0x8c000000, 0x228},
    {"MPI_DOUBLE_INT", pair, true, false, "ompi_mpi_double_int", 0x8c000001, 0x229},
    {"MPI_LONG_INT", pair, true, false, "ompi_mpi_long_int", 0x8c000002, 0x22a},
    {"MPI_SHORT_INT", pair, true, false, "ompi_mpi_short_int", 0x8c000003, 0x22c},
    {"MPI_LONG_DOUBLE_INT", pair, true, false, "ompi_mpi_longdbl_int", 0x8c000004, 0x22d},
    {"MPI_2INT", pair, true, false, "ompi_mpi_2int", 0x4c000816, 0x22b},
    {"MPI_2INTEGER", pair, true, true, "ompi_mpi_2integer", 0x4c000820, 0},
    {"MPI_2REAL", pair, true, true, "ompi_mpi_2real", 0x4c000821, 0},
    {"MPI_2DOUBLE_PRECISION", pair, true, true, "ompi_mpi_2dblprec", 0x4c001023, 0},
    {"MPI_CHARACTER", opaque, false, true, "ompi_mpi_character", 0x4c00011a, 0x21e},
    {"MPI_LOGICAL", logical, false, true, "ompi_mpi_logical", 0x4c00041d, 0x218},
    {"MPI_LOGICAL1", logical, false, true, "ompi_mpi_logical1", 0x4c000147, 0x2c0},
    {"MPI_LOGICAL2", logical, false, true, "ompi_mpi_logical2", 0x4c000248, 0x2c8},
    {"MPI_LOGICAL4", logical, false, true, "ompi_mpi_logical4", 0x4c000449, 0x2d0},
    {"MPI_LOGICAL8", logical, false, true, "ompi_mpi_logical8", 0x4c00084a, 0x2d8},
    {"MPI_INTEGER", other_integer, true, true, "ompi_mpi_integer", 0x4c00041b, 0x219},
    {"MPI_INTEGER1", other_integer, true, true, "ompi_mpi_integer1", 0x4c00012d, 0x2c1},
    {"MPI_INTEGER2", other_integer, true, true, "ompi_mpi_integer2", 0x4c00022f, 0x2c9},
    {"MPI_INTEGER4", other_integer, true, true, "ompi_mpi_integer4", 0x4c000430, 0x2d1},
    {"MPI_INTEGER8", other_integer, true, true, "ompi_mpi_integer8", 0x4c000831, 0x2d9},
    {"MPI_INTEGER16", other_integer, true, true, "ompi_mpi_integer16", 0x4c001032, 0x2e1},
    {"MPI_REAL", floating, true, true, "ompi_mpi_real", 0x4c00041c, 0x21a},
    {"MPI_REAL4", floating, true, true, "ompi_mpi_real4", 0x4c000427, 0x2d2},
    {"MPI_REAL8", floating, true, true, "ompi_mpi_real8", 0x4c000829, 0x2da},
    {"MPI_REAL16", floating, true, true, "ompi_mpi_real16", 0x4c00102b, 0x2e2},
    {"MPI_DOUBLE_PRECISION", floating, true, true, "ompi_mpi_dblprec", 0x4c00081f, 0x21c},
    {"MPI_COMPLEX", complex, true, true, "ompi_mpi_cplex", 0x4c00081e, 0x21b},
    {"MPI_COMPLEX8", complex, true, true, "ompi_mpi_complex8", 0x4c000828, 0x2db},
    {"MPI_COMPLEX16", complex, true, true, "ompi_mpi_complex16", 0x4c00102a, 0x2e3},
    {"MPI_COMPLEX32", complex, true, true, "ompi_mpi_complex32", 0x4c00202c, 0x2eb},
    {"MPI_DOUBLE_COMPLEX", complex, true, true, "ompi_mpi_dblcplex", 0x4c001022, 0x21d},
};

struct Names::OpRow {
    const char *name;
    std::optional<stretto_op> op;
    const char *open_mpi;
    std::uint32_t mpich, standard;
    std::array<bool, 8>
        of; // integer, other_integer, floating, complex, logical, byte, pair, opaque
};

constexpr std::array<bool, 8> kOrdered{true, true, true}, kArithmetic{true, true, true, true},
    kTruth{true, false, false, false, true}, kBits{true, true, false, false, false, true},
    kPlaces{false, false, false, false, false, false, true};
const Names::OpRow Names::kOpRows[] = {
    {"MPI_SUM", STRETTO_SUM, "ompi_mpi_op_sum", 0x58000003, 0x21, kArithmetic},
    {"MPI_MAX", STRETTO_MAX, "ompi_mpi_op_max", 0x58000001, 0x23, kOrdered},
    {"MPI_MIN", STRETTO_MIN, "ompi_mpi_op_min", 0x58000002, 0x22, kOrdered},
    {"MPI_PROD", STRETTO_PROD, "ompi_mpi_op_prod", 0x58000004, 0x24, kArithmetic},
    {"MPI_LAND", STRETTO_LAND, "ompi_mpi_op_land", 0x58000005, 0x30, kTruth},
    {"MPI_BAND", STRETTO_BAND, "ompi_mpi_op_band", 0x58000006, 0x28, kBits},
    {"MPI_LOR", STRETTO_LOR, "ompi_mpi_op_lor", 0x58000007, 0x31, kTruth},
    {"MPI_BOR", STRETTO_BOR, "ompi_mpi_op_bor", 0x58000008, 0x29, kBits},
    {"MPI_LXOR", STRETTO_LXOR, "ompi_mpi_op_lxor", 0x58000009, 0x32, kTruth},
    {"MPI_BXOR", STRETTO_BXOR, "ompi_mpi_op_bxor", 0x5800000a, 0x2a, kBits},
    {"MPI_MINLOC", std::nullopt, "ompi_mpi_op_minloc", 0x5800000b, 0x38, kPlaces},
    {"MPI_MAXLOC", std::nullopt, "ompi_mpi_op_maxloc", 0x5800000c, 0x39, kPlaces},
};

template<class AnyRow>
Handle Names::handle_of(const AnyRow &row) const {
    switch (host_.abi().interface) {
    case Interface::open_mpi: return reinterpret_cast<Handle>(symbol(host_.mpi(), row.open_mpi));
    case Interface::mpich: return row.mpich;
    case Interface::standard: return row.standard;
    }
    return 0;
}

// The types and operations that Stretto reduces itself.  It moves elements of all others (long
// double, LOGICAL of Fortran, whose truth values depend on the compiler), and the library below
// reduces them.
std::optional<stretto_dtype> Names::dtype_of(const Row &row, std::size_t size) {
    using Choice = std::pair<std::size_t, stretto_dtype>;
    const auto by_size = [size](std::initializer_list<Choice> choices) {
        for (const Choice &choice : choices)
            if (choice.first == size)
                return std::optional(choice.second);
        return std::optional<stretto_dtype>();
    };
    switch (row.what) {
    case integer:
    case other_integer:
        return row.is_signed ? by_size({{1, STRETTO_INT8},
                                        {2, STRETTO_INT16},
                                        {4, STRETTO_INT32},
                                        {8, STRETTO_INT64}})
                             : by_size({{1, STRETTO_UINT8},
                                        {2, STRETTO_UINT16},
                                        {4, STRETTO_UINT32},
                                        {8, STRETTO_UINT64}});
    case floating: return by_size({{4, STRETTO_FLOAT32}, {8, STRETTO_FLOAT64}});
    case complex: return by_size({{8, STRETTO_COMPLEX64}, {16, STRETTO_COMPLEX128}});
    case byte: return STRETTO_UINT8;
    case logical: return row.fortran ? std::nullopt : by_size({{1, STRETTO_BOOL}});
    case pair:
    case opaque: break;
    }
    return std::nullopt;
}

Names::Names(const MpiLibrary &host) : host_(host) {
    for (const Row &row : kRows) {
        const Handle handle = handle_of(row);
        if (handle == 0 || handle == host.abi().datatype_null)
            continue;
        std::size_t at = slot(handle);
        while (entries_[at].row != nullptr && entries_[at].handle != handle)
            at = (at + 1) % kEntries;
        entries_[at].handle = handle; // some are other names of one type
        entries_[at].row = &row;
    }
    for (const OpRow &row : kOpRows)
        ops_.push_back({handle_of(row), {row.name, row.op, row.of}});
}

void Names::measure(Entry &entry) {
    const std::lock_guard lock(mutex_);
    int size = 0;
    std::intptr_t lowest = 0, extent = 0;
    if (entry.measured.load(std::memory_order_relaxed) ||
        host_.Type_size(entry.handle, &size) != 0 ||
        host_.Type_get_extent(entry.handle, &lowest, &extent) != 0)
        return;
    const auto bytes = static_cast<std::size_t>(size);
    entry.datatype = {entry.row->name, entry.row->what, bytes, static_cast<std::size_t>(extent),
                      dtype_of(*entry.row, bytes)};
    entry.measured.store(true, std::memory_order_release);
}

Names &Names::get() {
    static Names names(MpiLibrary::get());
    return names;
}

} // namespace stretto::mpi

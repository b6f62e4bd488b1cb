// SPDX-License-Identifier: BSD-3-Clause
#include "abi.hpp"

#include <array>
#include <dlfcn.h>
#include <link.h>
#include <vector>

namespace stretto::mpi {

namespace {

struct Known {
    const char *soname;
    Interface interface;
};
constexpr std::array kKnown{
    Known{"libmpi.so.40", Interface::open_mpi}, Known{"libmpi.so.12", Interface::mpich},
    Known{"libmpich.so.12", Interface::mpich}, Known{"libmpi_abi.so.1", Interface::standard}};

struct Object {
    std::string path, soname;
};

std::string soname_of(const dl_phdr_info &info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        if (info.dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const auto *entry =
            reinterpret_cast<const ElfW(Dyn) *>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
        ElfW(Addr) names = 0, name = 0;
        bool named = false;
        for (; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_STRTAB)
                names = entry->d_un.d_ptr;
            if (entry->d_tag == DT_SONAME) {
                name = entry->d_un.d_val;
                named = true;
            }
        }
        if (!named || names == 0)
            return "";
        if (names < info.dlpi_addr) // some loaders do not relocate this address
            names += info.dlpi_addr;
        return reinterpret_cast<const char *>(names + name);
    }
    return "";
}

int collect(dl_phdr_info *info, std::size_t, void *found) {
    // Skips the program, which has no name, and the kernel's object (vDSO), which is no file.
    if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/')
        return 0;
    static_cast<std::vector<Object> *>(found)->push_back({info->dlpi_name, soname_of(*info)});
    return 0;
}

bool is_mpi(const std::string &soname) {
    return soname.starts_with("libmpi.so") || soname.starts_with("libmpich.so") ||
           soname.starts_with("libmpi_abi.so") || soname.starts_with("libmpi_ilp64.so");
}

Abi open_mpi(const Loaded &mpi) {
    const auto handle = [&](const char *name) {
        return reinterpret_cast<Handle>(symbol(mpi, name));
    };
    Abi abi;
    abi.comm_world = handle("ompi_mpi_comm_world");
    abi.comm_self = handle("ompi_mpi_comm_self");
    abi.comm_null = handle("ompi_mpi_comm_null");
    abi.datatype_null = handle("ompi_mpi_datatype_null");
    abi.op_null = handle("ompi_mpi_op_null");
    abi.request_null = handle("ompi_request_null");
    abi.byte = handle("ompi_mpi_byte");
    abi.in_place = reinterpret_cast<const void *>(1);
    return abi;
}

Abi mpich() {
    Abi abi;
    abi.interface = Interface::mpich;
    abi.handle_bytes = 4;
    abi.comm_world = 0x44000000;
    abi.comm_self = 0x44000001;
    abi.comm_null = 0x04000000;
    abi.datatype_null = 0x0c000000;
    abi.op_null = 0x18000000;
    abi.request_null = 0x2c000000;
    abi.byte = 0x4c00010d;
    abi.in_place = reinterpret_cast<const void *>(-1);
    abi.status_ignore = reinterpret_cast<void *>(1);
    abi.status_bytes = 20;
    abi.any_source = -2;
    abi.error_other = 15;
    abi.error_request = 19;
    abi.named = 1;
    abi.dup = 2;
    abi.contiguous = 3;
    return abi;
}

// MPI 5.0, appendix A.
Abi standard() {
    Abi abi;
    abi.interface = Interface::standard;
    abi.comm_world = 0x101;
    abi.comm_self = 0x102;
    abi.comm_null = 0x100;
    abi.datatype_null = 0x200;
    abi.op_null = 0x20;
    abi.request_null = 0x180;
    abi.byte = 0x247;
    abi.status_bytes = 32;
    abi.in_place = reinterpret_cast<const void *>(1);
    abi.error_other = 16;
    abi.error_request = 7;
    abi.named = 101;
    abi.dup = 102;
    abi.contiguous = 103;
    return abi;
}

} // namespace

void *symbol(const Loaded &mpi, const char *name) {
    // Looks in the program first: it may hold a copy of the library's variable, which then replaces
    // the original in the whole process.
    if (void *found = dlsym(RTLD_DEFAULT, name))
        return found;
    // A library that was loaded for one module only, as Python does, is found only by its handle.
    return mpi.library != nullptr ? dlsym(mpi.library, name) : nullptr;
}

Loaded find_mpi() {
    std::vector<Object> objects;
    dl_iterate_phdr(collect, &objects);
    Loaded mpi;
    std::string others;
    const Known *known = nullptr;
    for (const Object &object : objects) {
        if (!is_mpi(object.soname))
            continue;
        const Known *found = nullptr;
        for (const Known &each : kKnown)
            if (object.soname == each.soname)
                found = &each;
        if (found == nullptr || known != nullptr) {
            others += (others.empty() ? "" : " and ") + object.path;
            continue;
        }
        known = found;
        mpi.soname = object.soname;
        mpi.library = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    }
    if (known == nullptr || !others.empty() || mpi.library == nullptr) {
        mpi.why = known != nullptr ? "it has loaded " + mpi.soname + " as well as " + others
                  : others.empty() ? "it has loaded no MPI library"
                                   : "its MPI library, " + others +
                                         ", has a binary interface that Stretto does not know";
        return mpi;
    }
    mpi.known = true;
    switch (known->interface) {
    case Interface::open_mpi: mpi.abi = open_mpi(mpi); break;
    case Interface::mpich: mpi.abi = mpich(); break;
    case Interface::standard: mpi.abi = standard(); break;
    }
    return mpi;
}

} // namespace stretto::mpi

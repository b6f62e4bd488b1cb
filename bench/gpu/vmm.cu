// SPDX-License-Identifier: BSD-3-Clause
// Memory made by cuMemCreate (PyTorch's expandable segments), shared as a POSIX descriptor.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe.h"

namespace probe {

namespace {

constexpr size_t kBytes = size_t{64} << 20;

std::runtime_error failed(const char *call) {
    return std::runtime_error(std::string(call) + ": " + strerror(errno));
}

union Control {
    char bytes[CMSG_SPACE(sizeof(int))];
    cmsghdr aligned;
};

void send_descriptor(int socket, int descriptor) {
    char byte = 'd';
    iovec vector{&byte, 1};
    Control control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1)
        throw failed("sendmsg");
}

int receive_descriptor(int socket) {
    char byte = 0;
    iovec vector{&byte, 1};
    Control control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        throw failed("recvmsg");
    const cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) {
        throw std::runtime_error("recvmsg: no descriptor came");
    }
    int descriptor = -1;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

CUdeviceptr map(const Rank &rank, CUmemGenericAllocationHandle handle) {
    CUdeviceptr address = 0;
    CU(cuMemAddressReserve, &address, kBytes, 0, 0, 0);
    CU(cuMemMap, address, kBytes, 0, handle, 0);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = rank.device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess, address, kBytes, &access, 1);
    return address;
}

void unmap(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
    CU(cuMemUnmap, address, kBytes);
    CU(cuMemAddressFree, address, kBytes);
    CU(cuMemRelease, handle);
}

} // namespace

void vmm_item(Rank &rank) {
    rank.open_device();
    CUmemGenericAllocationHandle handle = 0;
    if (rank.rank == 0) {
        CUmemAllocationProp properties{};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = rank.device;
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        size_t granularity = 0;
        rank.stage("cuMemCreate");
        CU(cuMemGetAllocationGranularity, &granularity, &properties,
           CU_MEM_ALLOC_GRANULARITY_MINIMUM);
        rank.note("granularity", std::to_string(granularity));
        rank.report("cuMemCreate", "us",
                    rank.time(1, [&] { CU(cuMemCreate, &handle, kBytes, &properties, 0); }),
                    kBytes);
        CUdeviceptr address = 0;
        rank.report("reserve, map, set access", "us",
                    rank.time(1, [&] { address = map(rank, handle); }), kBytes);
        CU(cuMemsetD32, address + 4096, 4711, 1);
        CU(cuCtxSynchronize);
        CUipcMemHandle legacy;
        const CUresult given = driver().cuIpcGetMemHandle(&legacy, address);
        rank.note("legacy handle of such memory", // refused by design: 1, CUDA_ERROR_INVALID_VALUE
                  given == CUDA_SUCCESS ? "is given"
                                        : "is refused by error " + std::to_string(given));
        rank.attempt("cuPointerGetAttribute of such memory", [&] {
            int legacy = -1;
            unsigned long long handles = 0;
            CU(cuPointerGetAttribute, &legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
               address);
            CU(cuPointerGetAttribute, &handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address);
            rank.note("cuPointerGetAttribute of such memory",
                      "legacy capable " + std::to_string(legacy) + ", handle types " +
                          std::to_string(handles));
        });
        rank.attempt("cuMemGetAddressRange of such memory", [&] {
            CUdeviceptr base = 0;
            size_t size = 0;
            CU(cuMemGetAddressRange, &base, &size, address + 3 * kMiB);
            rank.note("cuMemGetAddressRange of such memory",
                      std::string(base == address ? "base, " : "another base, ") +
                          std::to_string(size) + " bytes");
        });
        rank.stage("cuMemExportToShareableHandle");
        std::vector<double> exports;
        int descriptor = -1;
        for (int i = 0; i < 10; ++i) {
            if (descriptor >= 0)
                close(descriptor);
            exports.push_back(rank.time(1, [&] {
                CU(cuMemExportToShareableHandle, &descriptor, handle,
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
            })[0]);
        }
        rank.report("cuMemExportToShareableHandle", "us", exports, kBytes);
        rank.shared->number[0] = static_cast<uint64_t>(getpid());
        rank.shared->number[1] = static_cast<uint64_t>(descriptor);
        // Where Yama restricts it, only this lets a sibling take the descriptor by pidfd_getfd.
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        rank.barrier();
        send_descriptor(rank.sockets[0], descriptor);
        rank.barrier();
        const uint32_t word = word_at(address + 8192);
        rank.note("what the peer wrote", word == 4712 ? "arrived" : "is " + std::to_string(word));
        rank.report("unmap and release", "us", rank.time(1, [&] { unmap(address, handle); }),
                    kBytes);
        return;
    }
    rank.barrier();
    rank.stage("receiving the descriptor");
    const int descriptor = receive_descriptor(rank.sockets[1]);
    std::vector<double> imports, maps;
    CUdeviceptr address = 0;
    for (int i = 0; i < 5; ++i) {
        rank.stage("cuMemImportFromShareableHandle");
        if (address != 0)
            unmap(address, handle);
        imports.push_back(rank.time(1, [&] {
            CU(cuMemImportFromShareableHandle, &handle,
               reinterpret_cast<void *>(static_cast<uintptr_t>(descriptor)),
               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        })[0]);
        rank.stage("mapping the import");
        maps.push_back(rank.time(1, [&] { address = map(rank, handle); })[0]);
    }
    std::sort(imports.begin(), imports.end());
    std::sort(maps.begin(), maps.end());
    rank.note("cuMemImportFromShareableHandle, median us", std::to_string(imports[2]));
    rank.note("reserve, map, set access of an import, median us", std::to_string(maps[2]));
    const uint32_t word = word_at(address + 4096);
    rank.note("what the owner wrote", word == 4711 ? "is seen" : "is " + std::to_string(word));
    CU(cuMemsetD32, address + 8192, 4712, 1);
    CU(cuCtxSynchronize);
    rank.attempt("pidfd_getfd", [&] {
        const long process = syscall(SYS_pidfd_open, rank.shared->number[0], 0);
        if (process < 0)
            throw failed("pidfd_open");
        const long copy = syscall(SYS_pidfd_getfd, process, rank.shared->number[1], 0);
        if (copy < 0)
            throw failed("pidfd_getfd");
        CUmemGenericAllocationHandle second = 0;
        CU(cuMemImportFromShareableHandle, &second,
           reinterpret_cast<void *>(static_cast<uintptr_t>(copy)),
           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        CU(cuMemRelease, second);
        rank.note("pidfd_getfd", "works, and what it gives can be imported");
    });
    rank.barrier();
    CU(cuMemUnmap, address, kBytes);
}

} // namespace probe

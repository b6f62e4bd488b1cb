// SPDX-License-Identifier: BSD-3-Clause
// floors ITEM RANKS SECONDS: forks the ranks of an item, ends them in time, says who failed.
#include "probe.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace probe {

constexpr char kPeerFailed[] = "a peer failed";

const Driver &driver() {
    static const Driver loaded = [] {
        Driver result;
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (library == nullptr)
            throw std::runtime_error(std::string("dlopen: ") + dlerror());
// Two steps: the header makes cuMemAlloc a macro for cuMemAlloc_v2, and that is the name to load.
#define STRETTO_PROBE_TEXT(name) #name
#define STRETTO_PROBE_LOAD(name)                                                                   \
    result.name =                                                                                  \
        reinterpret_cast<decltype(result.name)>(dlsym(library, STRETTO_PROBE_TEXT(name)));         \
    if (result.name == nullptr)                                                                    \
        throw std::runtime_error("libcuda.so.1 lacks " STRETTO_PROBE_TEXT(name));
        STRETTO_PROBE_DRIVER(STRETTO_PROBE_LOAD)
#undef STRETTO_PROBE_LOAD
        return result;
    }();
    return loaded;
}

void check(CUresult result, const char *function) {
    if (result == CUDA_SUCCESS)
        return;
    const char *name = "unknown error";
    const char *text = "";
    driver().cuGetErrorName(result, &name);
    driver().cuGetErrorString(result, &text);
    throw std::runtime_error(std::string(function) + ": " + (name ? name : "?") + " (" +
                             (text ? text : "?") + ")");
}

void check(cudaError_t result, const char *function) {
    if (result == cudaSuccess)
        return;
    throw std::runtime_error(std::string(function) + ": " + cudaGetErrorName(result) + " (" +
                             cudaGetErrorString(result) + ")");
}

void Rank::open_device() {
    stage("opening the device");
    CU(cuInit, 0);
    CU(cuDeviceGet, &device, 0);
    CU(cuDevicePrimaryCtxRetain, &context, device);
    CU(cuCtxSetCurrent, context);
    CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
}

void Rank::stage(const std::string &text) const {
    snprintf(shared->stage[rank], sizeof shared->stage[rank], "%s", text.c_str());
}

void Rank::wait_for(const std::atomic<uint32_t> &word, uint32_t value) const {
    for (int spins = 0; static_cast<int32_t>(word.load(std::memory_order_acquire) - value) < 0;
         ++spins) {
        if (shared->failed.load(std::memory_order_relaxed) != 0) {
            throw std::runtime_error(kPeerFailed);
        }
        if (spins % 4096 == 4095) {
            if (now_us() > deadline_us)
                throw std::runtime_error("timeout waiting for a peer");
            sched_yield();
        }
    }
}

void Rank::barrier() const {
    const uint32_t generation = shared->generation.value.load(std::memory_order_acquire);
    if (shared->arrived.value.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        static_cast<uint32_t>(ranks)) {
        shared->arrived.value.store(0, std::memory_order_relaxed);
        shared->generation.value.fetch_add(1, std::memory_order_release);
        return;
    }
    wait_for(shared->generation.value, generation + 1);
}

void Rank::report(const std::string &what, const char *unit, std::vector<double> samples,
                  size_t bytes) const {
    if (rank != 0 || samples.empty())
        return;
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double share) {
        return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
    };
    const size_t half = samples.size() / 2;
    const double median =
        samples.size() % 2 != 0 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
    printf("{\"item\": \"%s\", \"ranks\": %d, \"what\": \"%s\", \"bytes\": %zu, \"unit\": \"%s\", "
           "\"median\": %.6g, \"p10\": %.6g, \"p90\": %.6g, \"samples\": %zu}\n",
           item, ranks, what.c_str(), bytes, unit, median, at(0.1), at(0.9), samples.size());
    fflush(stdout);
}

void Rank::note(const std::string &what, const std::string &text) const {
    std::string plain = text;
    for (char &c : plain) {
        if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ')
            c = '\'';
    }
    printf("{\"item\": \"%s\", \"ranks\": %d, \"rank\": %d, \"what\": \"%s\", \"text\": \"%s\"}\n",
           item, ranks, rank, what.c_str(), plain.c_str());
    fflush(stdout);
}

Window::Window(const Rank &rank, size_t bytes, int slot) {
    rank.stage("opening a window");
    // Smaller allocations share a block of memory, and a handle is one of the whole block.
    bytes = (bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    CU(cuMemAlloc, &of[rank.rank], bytes);
    CU(cuIpcGetMemHandle, &rank.shared->memory[rank.rank][slot], of[rank.rank]);
    rank.barrier();
    for (int peer = 0; peer < rank.ranks; ++peer) {
        if (peer == rank.rank)
            continue;
        CU(cuIpcOpenMemHandle, &of[peer], rank.shared->memory[peer][slot],
           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }
    rank.barrier();
}

void Window::close(const Rank &rank) {
    rank.stage("closing a window");
    CU(cuCtxSynchronize);
    rank.barrier();
    for (int peer = 0; peer < rank.ranks; ++peer) {
        if (peer != rank.rank)
            CU(cuIpcCloseMemHandle, of[peer]);
    }
    rank.barrier();
    CU(cuMemFree, of[rank.rank]);
}

void *map_host(const Rank &rank) {
    void *memory = mmap(nullptr, kHostBytes, PROT_READ | PROT_WRITE, MAP_SHARED, rank.host_fd, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error(std::string("mmap: ") + strerror(errno));
    return memory;
}

uint32_t word_at(CUdeviceptr address) {
    uint32_t word = 0;
    CU(cuMemcpyDtoH, &word, address, sizeof word);
    return word;
}

namespace {

__global__ void nothing() {}

__global__ void copy_units(uint4 *to, const uint4 *from, size_t units) {
    const size_t stride = size_t{gridDim.x} * blockDim.x;
    for (size_t at = size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < units; at += stride * 4) {
        uint4 x[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            if (at + u * stride < units)
                x[u] = from[at + u * stride];
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            if (at + u * stride < units)
                to[at + u * stride] = x[u];
        }
    }
}

} // namespace

void Rank::launch_and_sync() const {
    nothing<<<1, 32, 0, stream>>>();
    LAUNCHED("nothing");
    sync();
}

void launch_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, int blocks, CUstream stream) {
    const size_t needed = (bytes / 16 + 511) / 512; // no more blocks than there is work for
    const auto grid = static_cast<unsigned>(std::min<size_t>(needed, static_cast<size_t>(blocks)));
    copy_units<<<grid, 512, 0, stream>>>(reinterpret_cast<uint4 *>(to),
                                         reinterpret_cast<const uint4 *>(from), bytes / 16);
    LAUNCHED("copy_units");
}

namespace {

struct Named {
    const char *name;
    void (*run)(Rank &);
};

constexpr Named kItems[] = {
    {"device", device_item},   {"start", start_item}, {"ipc", ipc_item},
    {"vmm", vmm_item},         {"event", event_item}, {"memop", memop_item},
    {"waiter", waiter_item},   {"small", small_item}, {"copy", copy_item},
    {"blocking", blocking_item},
    {"onepass", onepass_item}, {"host", host_item},   {"hosts", hosts_item},
};

[[noreturn]] void run_rank(Rank rank, void (*item)(Rank &), unsigned seconds, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    // Kernels are loaded before streams wait for anything, except where loading is measured.
    if (strcmp(rank.item, "start") != 0)
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    alarm(seconds); // its default action ends the process, whatever CUDA does
    int status = 0;
    try {
        item(rank);
        rank.stage("done");
    } catch (const std::exception &error) {
        snprintf(rank.shared->error[rank.rank], sizeof rank.shared->error[0], "%s", error.what());
        rank.shared->failed.store(1, std::memory_order_release);
        status = 1;
    }
    fflush(stdout);
    _exit(status); // no destructors: the driver frees what a process held
}

int run_item(const Named &item, int ranks, unsigned seconds) {
    void *memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return perror("mmap"), 2;
    Shared *shared = new (memory) Shared();
    const int host = memfd_create("stretto-floors", MFD_CLOEXEC);
    if (host < 0 || ftruncate(host, static_cast<off_t>(kHostBytes)) != 0) {
        return perror("memfd_create"), 2;
    }
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return perror("socketpair"), 2;
    const pid_t parent = getpid();
    std::vector<pid_t> children;
    for (int r = 0; r < ranks; ++r) {
        const pid_t child = fork();
        if (child < 0) {
            perror("fork");
            shared->failed.store(1);
            break;
        }
        if (child == 0) {
            run_rank(Rank{item.name,
                          r,
                          ranks,
                          shared,
                          host,
                          {sockets[0], sockets[1]},
                          now_us() + 1e6 * (seconds - 0.5)},
                     item.run, seconds, parent);
        }
        children.push_back(child);
    }
    // Ends all a second after the first failure, and does not wait for a process that the driver
    // keeps from ending.
    const double last = now_us() + 1e6 * (seconds + 2.0);
    double kill_at = last - 1e6;
    int status = 0;
    size_t ended = 0;
    for (bool killed = false; ended < children.size() && now_us() < last; usleep(2000)) {
        if (!killed && now_us() > kill_at) {
            killed = true;
            for (const pid_t child : children) {
                if (child != 0)
                    kill(child, SIGKILL);
            }
        }
        if (shared->failed.load() != 0)
            kill_at = std::min(kill_at, now_us() + 1e6);
        int how = 0;
        const pid_t child = waitpid(-1, &how, WNOHANG);
        if (child <= 0)
            continue;
        ++ended;
        const auto found = std::find(children.begin(), children.end(), child);
        if (found == children.end())
            continue;
        *found = 0;
        if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
            continue;
        const int r = static_cast<int>(found - children.begin());
        const std::string during = std::string(" during: ") + shared->stage[r];
        const Rank failed{item.name, r, ranks, shared, host, {-1, -1}, 0};
        shared->failed.store(1);
        status = 1;
        if (WIFSIGNALED(how)) {
            const int signal = WTERMSIG(how);
            failed.note("FAILED", (signal == SIGALRM   ? "timeout"
                                   : signal == SIGKILL ? "ended after a failure of a peer"
                                                       : "signal " + std::to_string(signal)) +
                                      during);
        } else if (strcmp(shared->error[r], kPeerFailed) != 0) {
            failed.note("FAILED", shared->error[r] + during);
        }
    }
    if (ended < children.size()) {
        status = 1;
        const Rank rank{item.name, 0, ranks, shared, host, {-1, -1}, 0};
        rank.note("FAILED", std::to_string(children.size() - ended) + " processes do not end");
    }
    return status;
}

} // namespace
} // namespace probe

int main(int count, char **words) {
    if (count == 4) {
        for (const auto &item : probe::kItems) {
            const int ranks = atoi(words[2]), seconds = atoi(words[3]);
            if (strcmp(item.name, words[1]) != 0)
                continue;
            if (ranks < 1 || ranks > probe::kMostRanks || seconds < 1)
                break;
            return probe::run_item(item, ranks, static_cast<unsigned>(seconds));
        }
    }
    fprintf(stderr, "usage: %s ITEM RANKS(1..8) SECONDS; items:", words[0]);
    for (const auto &item : probe::kItems)
        fprintf(stderr, " %s", item.name);
    fprintf(stderr, "\n");
    return 2;
}

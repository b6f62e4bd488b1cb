// SPDX-License-Identifier: BSD-3-Clause
// What a thread cannot ask of the driver while another one waits in it for a stream, which waits
// for a word of host memory that nobody may set before.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace probe {

namespace {

constexpr double kHeldUs = 60'000; // how long the word is not set
constexpr size_t kBytes = kMiB;

__global__ void add_ones(float *values, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        values[i] += 1;
}

void spin(double us) {
    for (const double start = now_us(); now_us() - start < us;) {
    }
}

// What a program and a library have: streams of their own, memory, and the word.
struct Scene {
    cudaStream_t blocking, own, library, holder;
    cudaEvent_t ended, held;
    char *there, *its, *pinned, *page;
    std::atomic<uint32_t> *word;
    uint32_t value = 0;

    Scene() {
        CUDART(cudaStreamCreate, &blocking);
        for (cudaStream_t *const stream : {&own, &library, &holder})
            CUDART(cudaStreamCreateWithFlags, stream, cudaStreamNonBlocking);
        for (cudaEvent_t *const event : {&ended, &held})
            CUDART(cudaEventCreateWithFlags, event, cudaEventDisableTiming);
        CUDART(cudaMalloc, &there, 64 * kMiB);
        CUDART(cudaMalloc, &its, kBytes);
        CUDART(cudaHostAlloc, &pinned, 2 * kBytes, 0);
        void *words = nullptr;
        CUDART(cudaHostAlloc, &words, 4096, 0);
        word = new (words) std::atomic<uint32_t>(0);
        page = static_cast<char *>(std::calloc(kBytes, 1));
        for (const cudaStream_t stream : {blocking, own, library, cudaStream_t{}})
            add_ones<<<64, 256, 0, stream>>>(reinterpret_cast<float *>(its), 1000);
        LAUNCHED("add_ones");
        CUDART(cudaDeviceSynchronize);
    }
};

struct Deed {
    const char *name;
    std::function<void(Scene &, cudaStream_t)> act;
};

const std::vector<Deed> &of_the_program() {
    static const std::vector<Deed> deeds = {
        {"copy of 64 B to host memory",
         [](Scene &s, cudaStream_t stream) {
             CUDART(cudaMemcpyAsync, s.page, s.there, 64, cudaMemcpyDeviceToHost, stream);
         }},
        {"copy of 4 KiB to host memory",
         [](Scene &s, cudaStream_t stream) {
             CUDART(cudaMemcpyAsync, s.page, s.there, 4036, cudaMemcpyDeviceToHost, stream);
         }},
        {"copy of 1 MiB to host memory",
         [](Scene &s, cudaStream_t stream) {
             CUDART(cudaMemcpyAsync, s.page, s.there, kBytes, cudaMemcpyDeviceToHost, stream);
         }},
        {"copy to pinned memory, cudaStreamSynchronize",
         [](Scene &s, cudaStream_t stream) {
             CUDART(cudaMemcpyAsync, s.pinned, s.there, 4036, cudaMemcpyDeviceToHost, stream);
             CUDART(cudaStreamSynchronize, stream);
         }},
        {"cudaMemcpy to host memory",
         [](Scene &s, cudaStream_t) {
             CUDART(cudaMemcpy, s.page, s.there, 4096, cudaMemcpyDeviceToHost);
         }},
        {"cudaFree",
         [](Scene &, cudaStream_t) {
             void *memory = nullptr;
             CUDART(cudaMalloc, &memory, 64 * kMiB);
             CUDART(cudaFree, memory);
         }},
    };
    return deeds;
}

const std::vector<Deed> &of_the_library() {
    static const std::vector<Deed> deeds = {
        {"kernel",
         [](Scene &s, cudaStream_t stream) {
             add_ones<<<64, 256, 0, stream>>>(reinterpret_cast<float *>(s.its), 1000);
             LAUNCHED("add_ones");
         }},
        {"copy to pinned memory",
         [](Scene &s, cudaStream_t stream) {
             CUDART(cudaMemcpyAsync, s.pinned + kBytes, s.its, 4096, cudaMemcpyDeviceToHost,
                    stream);
         }},
    };
    return deeds;
}

enum class Wait { in_the_stream, by_an_event, behind_work };

// How long the library's deed takes, `delay` after the program has begun with its own.
double measure(Scene &scene, cudaStream_t stream, Wait wait, const Deed &program,
               const Deed &library, double delay_us) {
    CUDART(cudaDeviceSynchronize);
    ++scene.value;
    const auto word = reinterpret_cast<CUdeviceptr>(scene.word);
    if (wait == Wait::behind_work)
        for (int k = 0; k < 40; ++k)
            add_ones<<<65'536, 256, 0, stream>>>(reinterpret_cast<float *>(scene.there), 16 << 20);
    if (wait == Wait::by_an_event) {
        CU(cuStreamWaitValue32, scene.holder, word, scene.value, CU_STREAM_WAIT_VALUE_GEQ);
        CUDART(cudaEventRecord, scene.held, scene.holder);
        CUDART(cudaStreamWaitEvent, stream, scene.held, 0);
    } else {
        CU(cuStreamWaitValue32, stream, word, scene.value, CU_STREAM_WAIT_VALUE_GEQ);
    }
    std::atomic<bool> go{false};
    double took = 0;
    std::thread other([&] {
        CUDART(cudaSetDevice, 0);
        while (!go) {
        }
        spin(delay_us);
        const double start = now_us();
        library.act(scene, scene.library);
        CUDART(cudaEventRecord, scene.ended, scene.library);
        while (cudaEventQuery(scene.ended) == cudaErrorNotReady)
            std::this_thread::yield();
        took = now_us() - start;
    });
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(kHeldUs)));
        scene.word->store(scene.value);
    });
    go = true;
    program.act(scene, stream);
    other.join();
    opener.join();
    return took;
}

} // namespace

void blocking_item(Rank &rank) {
    rank.open_device();
    Scene scene;
    const struct {
        const char *name;
        cudaStream_t stream;
    } streams[] = {{"blocking", scene.blocking}, {"non-blocking", scene.own}, {"default", nullptr}};
    const struct {
        const char *name;
        Wait wait;
    } waits[] = {{"waits", Wait::in_the_stream},
                 {"waits for an event behind such a wait", Wait::by_an_event},
                 {"waits behind work", Wait::behind_work}};
    for (const auto &wait : waits)
        for (const auto &stream : streams)
            for (const Deed &program : of_the_program()) {
                rank.stage(std::string(stream.name) + " stream, " + program.name);
                std::string text;
                for (const Deed &library : of_the_library()) {
                    text += (text.empty() ? "" : "; ") + std::string(library.name) + " after";
                    for (const double delay : {0., 30., 200., 3000., 20'000.}) {
                        const double us =
                            measure(scene, stream.stream, wait.wait, program, library, delay);
                        text += " " + std::to_string(static_cast<int>(delay)) + ": " +
                                (us > kHeldUs / 3 ? "HELD UP"
                                                  : std::to_string(static_cast<int>(us))) +
                                ",";
                    }
                    text.back() = ' ';
                }
                rank.note(std::string("a ") + stream.name + " stream " + wait.name +
                              "; the program: " + program.name + "; the library (us)",
                          text);
            }
}

} // namespace probe

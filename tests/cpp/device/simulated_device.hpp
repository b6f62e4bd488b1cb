// SPDX-License-Identifier: BSD-3-Clause
// The device behind the simulated driver: its memory, its streams, and the engines that copy.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simulated_cuda.hpp"

namespace simulated_cuda {

using Clock = std::chrono::steady_clock;
using Address = unsigned long long;

enum : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kInvalidHandle = 400,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kContextDestroyed = 709,
    kAlreadyRegistered = 712,
    kNotRegistered = 713,
    kCaptureUnsupported = 900,
    kCaptureImplicit = 906,
};

constexpr std::size_t kDeviceBytes = std::size_t{16} << 30; // of address space
constexpr std::size_t kAlignment = 512;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLiveBuffers = std::size_t{1}
                                     << 16; // of a process, of which handles are valid

struct Event {
    std::uint64_t recorded = 0, happened = 0;
};

enum Engine : int { from_device, to_device, inside, kEngines };

struct Stream;
struct Operation {
    // An engine copies; the others happen when their turn in the stream comes.
    enum class Kind { copy, record, wait_event, wait_value, wait_stream } kind = Kind::copy;
    Engine engine = inside;
    std::byte *to = nullptr;
    const std::byte *from = nullptr;
    std::size_t bytes = 0;
    std::function<void()> kernel;  // in place of a copy
    std::vector<std::byte> staged; // of host memory that was read at once
    bool by_memcpy = false;        // the program's own: neither slow, held nor counted
    Event *event = nullptr;
    Stream *stream = nullptr; // is to have done so much
    std::uint64_t mark = 0;
    const std::atomic<std::uint32_t> *word = nullptr; // is to reach the value
    std::uint32_t value = 0;
    Clock::time_point asked;
};

struct Stream {
    std::deque<Operation> operations;
    std::uint64_t given = 0, done = 0; // of them, ever
    bool busy = false;                 // an engine works on the first
    bool captured = false;             // into a graph
    bool blocking = true; // the legacy default stream waits for it, and it for that one
};

// Two contexts at one address at different times have different numbers.
struct Context {
    std::uint64_t number = 0;
};

// The turns of all processes that are forked from the one that has loaded this library.
struct Turns {
    std::atomic<int> process{0}; // which had the last one
    std::atomic<std::uint64_t> count{0};
    // True if the turn changes.
    bool take() {
        const bool changes = process.exchange(getpid()) != getpid();
        count += changes;
        return changes;
    }
};
inline Turns *const turns =
    new (mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        Turns;

inline double us_between(Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double, std::micro>(b - a).count();
}

class Device {
public:
    static Device &get() {
        static Device *const device = new Device; // its threads run until the process ends
        return *device;
    }

    std::mutex mutex;
    Speed speed;
    Counts counts;
    std::minstd_rand random;
    std::uint64_t fail_after = 0;
    int fail_error = kSuccess, error = kSuccess; // the second is sticky
    bool held = false, shared_queue = false, free_waits = false;
    std::size_t pinned_limit = 0;
    std::map<Address, std::size_t> allocations;
    std::map<Address, std::uint64_t> buffer_ids; // of this process's own
    std::uint64_t buffers = 0;
    int fail_opening = kSuccess;
    bool without_handles = false, kill_owner = false;
    std::set<Address> no_handle;
    unsigned char number = 1; // of the device
    // What is open of other processes' memory, by context and handle: where, and how often.
    struct Opened {
        Address base = 0, range = 0;
        std::size_t bytes = 0; // of the range
        int times = 0;
    };
    std::map<std::pair<const Context *, std::string>, Opened> opened;
    std::map<const std::byte *, std::size_t> pinned; // host memory
    std::set<const std::byte *> registered;          // those that are not the driver's own
    std::set<Stream *> streams;
    // Also those that are destroyed: so a new one has another handle.
    std::deque<Stream> all_streams;
    Stream *legacy = nullptr; // the default stream of all threads and contexts
    std::set<const Event *> events;
    std::set<const Context *> contexts;
    std::map<const void *, const Context *> owners; // of memory, registrations, streams, events
    std::uint64_t context_numbers = 0;
    std::condition_variable changed;
    // Threads of the program that are in a call of the driver that waits for the device.
    int keeping = 0;

    // Returns when no thread keeps the others from the device.
    void await_driver(std::unique_lock<std::mutex> &lock) {
        changed.wait(lock, [this] { return keeping == 0; });
    }
    // Waits for a stream, or for all, and keeps other threads from the device meanwhile.
    void drain_alone(std::unique_lock<std::mutex> &lock, Stream &stream) {
        ++keeping;
        drain(lock, stream);
        --keeping;
        changed.notify_all();
    }
    void drain_all_alone(std::unique_lock<std::mutex> &lock) {
        std::vector<std::pair<Stream *, std::uint64_t>> marks;
        for (Stream *const stream : streams)
            marks.emplace_back(stream, stream->given);
        ++keeping;
        changed.wait(lock, [&] {
            return std::ranges::all_of(marks, [this](const auto &each) {
                return each.first->done >= each.second || !streams.contains(each.first);
            });
        });
        --keeping;
        changed.notify_all();
    }

    bool on_device(Address address) const {
        return address >= base_ && address < base_ + kDeviceBytes;
    }
    // Whether an allocation holds all of these bytes.
    bool allocated(Address address, std::size_t bytes) const {
        auto found = allocations.upper_bound(address);
        if (found == allocations.begin())
            return false;
        --found;
        return address + bytes <= found->first + found->second;
    }
    // The context of the allocation that holds this.
    const Context *owner(Address address) const {
        return owners.at(
            reinterpret_cast<const void *>((--allocations.upper_bound(address))->first));
    }
    // The number of that allocation; 0: it is another process's.
    std::uint64_t buffer(Address address) const {
        const auto found = buffer_ids.find((--allocations.upper_bound(address))->first);
        return found != buffer_ids.end() ? found->second : 0;
    }
    // Where the CPU of this simulation finds it.
    std::byte *memory(Address address) const {
        return on_device(address) ? store_ + (address - base_)
                                  : reinterpret_cast<std::byte *>(address);
    }
    bool is_pinned(const std::byte *first, std::size_t bytes) const {
        auto found = pinned.upper_bound(first);
        if (found == pinned.begin())
            return false;
        --found;
        return first + bytes <= found->first + found->second;
    }
    // Whether some of it is pinned and some is not, or in another registration: no driver copies
    // that.
    bool leaves_pinned(const std::byte *first, std::size_t bytes) const {
        return bytes != 0 && !is_pinned(first, bytes) &&
               (is_pinned(first, 1) || is_pinned(first + bytes - 1, 1));
    }
    std::size_t pinned_bytes() const {
        std::size_t sum = 0;
        for (const auto &[first, bytes] : pinned)
            sum += bytes;
        return sum;
    }
    bool room_to_pin(std::size_t bytes) const {
        return pinned_limit == 0 || pinned_bytes() + bytes <= pinned_limit;
    }

    int allocate(Address *pointer, std::size_t bytes) {
        if (bytes == 0)
            return kInvalidValue;
        const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        Address at = base_;
        for (const auto &[first, length] : allocations) { // first fit: addresses come again
            if (first - at >= size)
                break;
            at = first + length;
        }
        if (at + size > base_ + kDeviceBytes)
            return kOutOfMemory;
        allocations[at] = size;
        std::memset(memory(at), 0xa5, size);
        *pointer = at;
        buffer_ids[at] = ++buffers;
        live_[buffers % kLiveBuffers] = buffers;
        no_handle.erase(at);
        if (without_handles)
            no_handle.insert(at);
        return kSuccess;
    }

    // Its handles are not valid any more.
    void forget_buffer(Address at) {
        if (const auto found = buffer_ids.find(at); found != buffer_ids.end()) {
            live_[found->second % kLiveBuffers] = 0;
            buffer_ids.erase(found);
        }
    }

    // What another process needs to map an allocation.
    struct Handle {
        std::int32_t process, file;
        std::uint64_t first, bytes, buffer;
    };
    bool get_handle(Address base, Handle &handle) {
        if (!buffer_ids.contains(base) || no_handle.contains(base))
            return false;
        handle = {getpid(), file_, base - base_, allocations.at(base), buffer_ids.at(base)};
        return true;
    }
    int open(const Handle &handle, Opened &into) {
        const std::string path =
            "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
        const int file = handle.process == getpid() ? -1 : ::open(path.c_str(), O_RDWR);
        if (file < 0)
            return kInvalidHandle;
        std::uint64_t buffer = 0;
        if (pread(file, &buffer, sizeof(buffer),
                  static_cast<off_t>(kDeviceBytes + handle.buffer % kLiveBuffers *
                                                        sizeof(buffer))) != sizeof(buffer) ||
            buffer != handle.buffer) {
            ::close(file);
            return kInvalidHandle;
        }
        const std::size_t within = handle.first % kPageBytes;
        into.bytes = (within + handle.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
        const int result = allocate(&into.range, into.bytes + kPageBytes);
        if (result == kSuccess) {
            buffer_ids.erase(into.range);
            const Address at = (into.range + kPageBytes - 1) / kPageBytes * kPageBytes;
            mmap(memory(at), into.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                 static_cast<off_t>(handle.first - within));
            into.base = at + within;
        }
        ::close(file);
        return result;
    }
    void close(const Opened &what) {
        const Address at = what.base / kPageBytes * kPageBytes;
        mmap(memory(at), what.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
             static_cast<off_t>(at - base_));
        allocations.erase(what.range);
    }

    void begin_context(Context *context) {
        context->number = ++context_numbers;
        contexts.insert(context);
    }
    // What belongs to it is gone as well.
    void end_context(const Context *context) {
        contexts.erase(context);
        std::erase_if(opened, [&](const auto &each) {
            if (each.first.first == context && each.second.times != 0)
                close(each.second);
            return each.first.first == context;
        });
        std::erase_if(owners, [&](const auto &each) {
            if (each.second != context)
                return false;
            auto *const host = static_cast<const std::byte *>(each.first);
            forget_buffer(reinterpret_cast<Address>(each.first));
            allocations.erase(reinterpret_cast<Address>(each.first));
            if (pinned.erase(host) != 0 && registered.erase(host) == 0)
                std::free(const_cast<std::byte *>(host));
            streams.erase(static_cast<Stream *>(const_cast<void *>(each.first)));
            events.erase(static_cast<const Event *>(each.first));
            return true;
        });
    }

    // Copies when its turn comes.
    int enqueue(Stream &stream, Operation operation) {
        if (&stream == legacy) {
            for (Stream *const other : streams)
                if (other != legacy && other->blocking)
                    let_wait(stream, *other);
        } else if (legacy != nullptr && stream.blocking) {
            let_wait(stream, *legacy);
        }
        give(stream, std::move(operation));
        changed.notify_all();
        return kSuccess;
    }

    bool a_stream_waits() const { // once all that can pass has passed
        return std::ranges::any_of(streams, [](const Stream *stream) {
            return !stream->operations.empty() &&
                   stream->operations.front().kind == Operation::Kind::wait_value;
        });
    }
    bool any_captured(bool blocking) const {
        return std::ranges::any_of(streams, [&](const Stream *stream) {
            return stream->captured && (stream->blocking || !blocking);
        });
    }
    // Counts what a real driver may answer only when the device has nothing to do.
    void note_request() {
        while (pass_all())
            changed.notify_all();
        counts.asked_while_waiting += a_stream_waits();
    }

    // A kernel, at its first launch at the latest.
    void load(std::uint64_t context_number, const void *function) {
        if (loaded_.emplace(context_number, function).second)
            note_request();
    }

    // Returns when the stream has done all that it has been given so far.
    void drain(std::unique_lock<std::mutex> &lock, Stream &stream) {
        changed.wait(lock, [&, mark = stream.given] { return stream.done >= mark; });
    }
    bool is_idle(const Stream &stream) {
        if (pass_all())
            changed.notify_all();
        return stream.operations.empty();
    }
    // Returns when no copy will write there any more whose bytes were read long ago.
    void settle_staged(std::unique_lock<std::mutex> &lock, const std::byte *first,
                       std::size_t bytes) {
        changed.wait(lock, [&] {
            return std::ranges::none_of(streams, [&](const Stream *stream) {
                return std::ranges::any_of(stream->operations, [&](const Operation &operation) {
                    return !operation.staged.empty() && operation.to >= first &&
                           operation.to < first + bytes;
                });
            });
        });
    }

private:
    Device() {
        base_ = reinterpret_cast<Address>(mmap(nullptr, kDeviceBytes, PROT_NONE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        file_ = memfd_create("simulated_device", MFD_CLOEXEC);
        constexpr std::size_t kFileBytes = kDeviceBytes + kLiveBuffers * sizeof(std::uint64_t);
        if (ftruncate(file_, kFileBytes) != 0)
            std::abort();
        store_ = static_cast<std::byte *>(mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE,
                                               MAP_SHARED | MAP_NORESERVE, file_, 0));
        live_ = reinterpret_cast<std::uint64_t *>(store_ + kDeviceBytes);
        for (int engine = 0; engine < kEngines; ++engine)
            std::thread([this, engine] { run(static_cast<Engine>(engine)); }).detach();
    }

    static void give(Stream &stream, Operation operation) {
        operation.asked = Clock::now();
        stream.operations.push_back(std::move(operation));
        ++stream.given;
    }
    static void end_first(Stream &stream) {
        stream.operations.pop_front();
        ++stream.done;
    }
    static void let_wait(Stream &stream, Stream &other) {
        if (other.operations.empty())
            return;
        Operation wait;
        wait.kind = Operation::Kind::wait_stream;
        wait.stream = &other;
        wait.mark = other.given;
        give(stream, std::move(wait));
    }
    // Whether an operation that no engine performs has happened, its turn having come.
    bool pass(Operation &first) {
        switch (first.kind) {
        case Operation::Kind::record:
            first.event->happened = std::max(first.event->happened, first.mark);
            return true;
        case Operation::Kind::wait_event: return first.event->happened >= first.mark;
        case Operation::Kind::wait_stream: // one that is destroyed does nothing more
            return first.stream->done >= first.mark || !streams.contains(first.stream);
        case Operation::Kind::wait_value:
            watches_ = true;
            // As integers that wrap around (CU_STREAM_WAIT_VALUE_GEQ).
            return static_cast<std::int32_t>(first.word->load(std::memory_order_acquire) -
                                             first.value) >= 0;
        default: return false;
        }
    }
    // Those of all streams.  Returns whether there were any.
    bool pass_all() {
        bool any = false;
        watches_ = false;
        for (Stream *const stream : streams)
            while (!stream->busy && !stream->operations.empty() &&
                   pass(stream->operations.front())) {
                end_first(*stream);
                any = true;
            }
        return any;
    }

    Stream *next(Engine engine) {
        std::vector<Stream *> ready;
        for (Stream *const stream : streams)
            if (!stream->busy && !stream->operations.empty() &&
                stream->operations.front().kind == Operation::Kind::copy &&
                stream->operations.front().engine == engine &&
                (!held || stream->operations.front().by_memcpy))
                ready.push_back(stream);
        return ready.empty() ? nullptr : ready[random() % ready.size()];
    }

    void run(Engine engine) {
        std::unique_lock lock(mutex);
        Clock::time_point free = Clock::now();
        for (;;) {
            if (pass_all()) {
                changed.notify_all();
                continue; // others may wait for an event that has just happened
            }
            Stream *const stream = shared_queue && a_stream_waits() ? nullptr : next(engine);
            if (stream == nullptr) {
                if (watches_) // nobody tells of a word of host memory
                    changed.wait_for(lock, std::chrono::microseconds(50));
                else
                    changed.wait(lock);
                continue;
            }
            Operation &first = stream->operations.front();
            stream->busy = true;
            const double cost =
                first.by_memcpy
                    ? 0
                    : (engine == inside && turns->take() ? speed.turn_us : 0) + speed.latency_us +
                          (speed.bytes_per_us > 0
                               ? static_cast<double>(first.bytes) / speed.bytes_per_us
                               : 0);
            // By the model: that this thread wakes late delays no later copy.
            const Clock::time_point begin = std::max(free, first.asked);
            const Clock::time_point end =
                begin + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double, std::micro>(cost));
            free = end;
            const bool works = error == kSuccess;
            lock.unlock();
            if (cost > 0)
                std::this_thread::sleep_until(end);
            if (works && first.kernel)
                first.kernel();
            else if (works)
                std::memcpy(first.to, first.staged.empty() ? first.from : first.staged.data(),
                            first.bytes);
            lock.lock();
            if (!first.by_memcpy)
                account(engine, begin, end);
            end_first(*stream);
            stream->busy = false;
            changed.notify_all();
        }
    }

    void account(Engine engine, Clock::time_point begin, Clock::time_point end) {
        if (engine == inside || begin == end)
            return;
        (engine == from_device ? counts.from_device_us : counts.to_device_us) +=
            us_between(begin, end);
        if (counts.copying_us == 0)
            first_copy_ = begin;
        counts.copying_us = std::max(counts.copying_us, us_between(first_copy_, end));
        std::deque<std::pair<Clock::time_point, Clock::time_point>> &other =
            worked_[engine == from_device ? to_device : from_device];
        for (const auto &[from, to] : other)
            if (const auto first = std::max(begin, from), last = std::min(end, to); first < last)
                counts.both_us += us_between(first, last);
        worked_[engine].emplace_back(begin, end);
        if (worked_[engine].size() > 4096)
            worked_[engine].pop_front();
    }

    Address base_;
    int file_ = -1; // the store, for other processes
    std::byte *store_;
    std::uint64_t *live_;  // behind the store: numbers of buffers that are not freed
    bool watches_ = false; // a stream waits for a word
    std::set<std::pair<std::uint64_t, const void *>> loaded_; // kernels, by context
    std::array<std::deque<std::pair<Clock::time_point, Clock::time_point>>, kEngines> worked_;
    Clock::time_point first_copy_; // of those that are counted
};

} // namespace simulated_cuda

// SPDX-License-Identifier: BSD-3-Clause
#include "trace/buffer.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/kernel_files.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"
#include "base/warning.hpp"
#include "trace/events.hpp"
#include "trace/log.hpp"

namespace stretto::trace {

namespace {

[[noreturn]] void refuse(const std::string &path, const char *what) {
    throw Error(Status::system, "cannot write a trace: " + std::string(what) + " " + path + ": " +
                                    std::strerror(errno) +
                                    "; STRETTO_TRACE names a folder for traces");
}

template<std::size_t N>
void put(std::array<char, N> &to, std::string_view text) {
    to = {};
    text.copy(to.data(), N - 1);
}

std::string line_of(const std::string &path) {
    const std::string text = contents(path);
    return text.substr(0, text.find('\n'));
}

// Processes of one boot share CLOCK_MONOTONIC, unless they are in a time namespace.
std::string clock_name() {
    std::array<char, 64> space{};
    if (readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0)
        space = {};
    return line_of("/proc/sys/kernel/random/boot_id") + " " + space.data();
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0)
        return "?";
    return name.data();
}

std::string hexadecimal(std::uint64_t number) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

} // namespace

std::shared_ptr<Buffer> Buffer::open(const Identity &me) {
    if (!given(Setting::trace))
        return nullptr;
    return std::make_shared<Buffer>(text(Setting::trace),
                                    static_cast<std::size_t>(number(Setting::trace_bytes)), me);
}

Buffer::Buffer(const std::string &folder, std::size_t bytes, const Identity &me) {
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
        refuse(folder, "cannot make the folder");
    const std::string stem = folder + "/stretto-" + hexadecimal(me.job_id).substr(0, 8) + "-rank-" +
                             std::to_string(me.rank);
    raw_path_ = stem + ".raw";
    json_path_ = stem + ".json";
    const std::size_t records = std::bit_floor(bytes / sizeof(Slot));
    bytes_ = kHeaderBytes + kNameBytes + records * sizeof(Slot);
    const Descriptor file(::open(raw_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.open())
        refuse(raw_path_, "cannot make the file");
    // Room now: a file system that is full later would be a signal.
    errno = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_));
    if (errno != 0) {
        const int code = errno;
        unlink(raw_path_.c_str());
        errno = code;
        refuse(raw_path_,
               ("no room for the " + written_bytes(bytes_) + " (STRETTO_TRACE_BYTES) of").c_str());
    }
    void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) {
        unlink(raw_path_.c_str());
        refuse(raw_path_, "cannot map");
    }
    memory_ = static_cast<std::byte *>(memory);
    std::memset(memory_, 0, bytes_); // pages are there before they are needed
    header_ = new (memory_) Header{};
    names_ = reinterpret_cast<char *>(memory_ + kHeaderBytes);
    slots_ = reinterpret_cast<Slot *>(memory_ + kHeaderBytes + kNameBytes);
    mask_ = records - 1;
    header_->records = records;
    header_->job_id = me.job_id;
    header_->rank = me.rank;
    header_->ranks = me.ranks;
    header_->pid = getpid();
    put(header_->host, host_name());
    put(header_->job, me.job);
    put(header_->clock, clock_name());
    header_->name_bytes.store(1, std::memory_order_relaxed); // name 0 is ""
    header_->magic = kMagic;
}

Buffer::~Buffer() {
    bool written = false;
    try {
        write_json();
        written = true;
    } catch (const std::exception &error) {
        warn(error.what() + ("; what is lost is still in " + raw_path_));
    }
    munmap(memory_, bytes_);
    if (written)
        unlink(raw_path_.c_str());
}

void Buffer::add(const Record &record) {
    const std::uint64_t index = header_->head.fetch_add(1, std::memory_order_relaxed);
    Slot &slot = slots_[index & mask_];
    const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(record);
    slot.stamp.store(0, std::memory_order_release);
    for (std::size_t i = 0; i < kWords; ++i)
        slot.words[i].store(words[i], std::memory_order_release); // not before the zero
    slot.stamp.store(index + 1, std::memory_order_release);
}

std::uint32_t Buffer::name(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(text); found != known_.end())
        return found->second;
    const std::uint64_t at = header_->name_bytes.load(std::memory_order_relaxed);
    if (at + text.size() + 1 > kNameBytes)
        return 0;
    text.copy(names_ + at, text.size()); // a zero is behind it
    header_->name_bytes.store(at + text.size() + 1, std::memory_order_release);
    return known_.emplace(text, static_cast<std::uint32_t>(at)).first->second;
}

std::uint16_t Buffer::add_communicator(int rank, int size, std::string_view name_) {
    const std::uint32_t number = header_->communicators.fetch_add(1, std::memory_order_relaxed);
    if (number >= kCommunicators)
        return kCommunicators - 1; // the last ones are not told apart
    CommunicatorLine &line = header_->lines[number];
    line.name.store(name(name_), std::memory_order_relaxed);
    line.rank.store(rank, std::memory_order_relaxed);
    line.size.store(size, std::memory_order_release);
    return static_cast<std::uint16_t>(number);
}

void Buffer::set_offset(std::int64_t nanoseconds) {
    header_->offset_ns.store(nanoseconds, std::memory_order_relaxed);
    header_->offset_known.store(1, std::memory_order_release);
}

void Buffer::write_json() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t head = header_->head.load(std::memory_order_acquire);
    if (written_ == head + 1)
        return;
    const std::string fresh = json_path_ + ".new"; // nobody finds half a file
    write_events(read_log({memory_, bytes_}, raw_path_), fresh);
    if (rename(fresh.c_str(), json_path_.c_str()) != 0)
        refuse(json_path_, "cannot rename the new");
    written_ = head + 1;
}

} // namespace stretto::trace

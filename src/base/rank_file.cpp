// SPDX-License-Identifier: BSD-3-Clause
#include "base/rank_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/interrupted.hpp"
#include "base/kernel_id.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"

namespace stretto {

namespace {

// Processes of one boot share CLOCK_MONOTONIC, unless they are in a time namespace.
std::string clock_name() {
    std::array<char, 64> space{};
    if (readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0)
        space = {};
    return boot_name() + " " + space.data();
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

RankFileHeader header_of(const RankIdentity &me) {
    RankFileHeader header{};
    header.job_id = me.job_id;
    header.rank = me.rank;
    header.ranks = me.ranks;
    header.pid = getpid();
    put_text(header.host, host_name());
    put_text(header.job, me.job);
    put_text(header.clock, clock_name());
    return header;
}

std::string RankFile::path(const std::string &folder, std::string_view ending,
                           const RankIdentity &me) {
    return folder + "/stretto-" + hexadecimal(me.job_id).substr(0, 8) + "-rank-" +
           std::to_string(me.rank) + std::string(ending);
}

RankFile::RankFile(const RankFileUse &use, const std::string &folder, std::string_view ending,
                   std::size_t bytes, const RankIdentity &me)
    : path_(path(folder, ending, me)), bytes_(bytes) {
    const auto refuse = [&](const std::string &where, const std::string &why) {
        throw Error(Status::system, std::string("cannot write ") + use.what + ": " + why + " " +
                                        where + ": " + std::strerror(errno) + "; " + use.remedy);
    };
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
        refuse(folder, "cannot make the folder");
    const Descriptor file(uninterrupted(
        [&] { return ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); }));
    if (!file.open())
        refuse(path_, "cannot make the file");
    // The file takes its room now: if the file system were full later, a write would raise a
    // signal.
    errno = take_room(file.get(), 0, bytes_);
    if (errno != 0) {
        const int code = errno;
        unlink(path_.c_str());
        errno = code;
        refuse(path_, "no room for the " + written_bytes(bytes_) + use.size + " of");
    }
    void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) {
        const int code = errno;
        unlink(path_.c_str());
        errno = code;
        refuse(path_, "cannot map");
    }
    memory_ = static_cast<std::byte *>(memory);
}

RankFile::~RankFile() {
    munmap(memory_, bytes_);
}

std::string text_of(const char *text, std::size_t most) {
    return {text, strnlen(text, most)};
}

std::vector<std::uint64_t> read_words(const std::string &path, const char *what) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string refusal = std::string("cannot read ") + what + " " + path;
    struct stat found{};
    if (!file.open() || fstat(file.get(), &found) != 0)
        throw_errno(refusal);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(found.st_size) / 8);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
    std::size_t size = 0;
    while (size < bytes.size()) {
        const ssize_t got = uninterrupted(
            [&] { return read(file.get(), bytes.data() + size, bytes.size() - size); });
        if (got < 0)
            throw_errno(refusal);
        if (got == 0)
            break;
        size += static_cast<std::size_t>(got);
    }
    words.resize(size / 8);
    return words;
}

} // namespace stretto

// SPDX-License-Identifier: BSD-3-Clause
// The file that a rank writes into a user's folder while it runs: memory that is mapped from it, so
// that its data remains however the process ends.
//
// Its reader is a process of the same machine type and version, or the same process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

struct RankIdentity {
    std::string job;
    std::uint64_t job_id = 0; // the same on all ranks, different between jobs
    int rank = 0, ranks = 1;
};

// What the file is and which settings made it, for errors.
struct RankFileUse {
    const char *what;   // "a trace"
    const char *remedy; // "STRETTO_TRACE names a folder for traces"
    const char *size;   // the setting that says how long it is, in brackets; "" if none does
};

// The head of the file: which rank wrote it.
struct RankFileHeader {
    std::uint64_t magic; // bytes after the head; stored when the file can be read
    std::uint64_t job_id;
    std::int32_t rank, ranks, pid;
    std::array<char, 256> host, job;
    // Names the clock of the file's times: ranks with the same words share a clock.
    std::array<char, 128> clock;
};

// Fills in everything but the magic number.
RankFileHeader header_of(const RankIdentity &me);

class RankFile {
public:
    // "stretto-JOB-rank-R" in the folder, which is made if it is not there, with this ending.
    // Throws Error(system) if it cannot be made, or has no room.
    RankFile(const RankFileUse &use, const std::string &folder, std::string_view ending,
             std::size_t bytes, const RankIdentity &me);
    ~RankFile();
    RankFile(const RankFile &) = delete;
    RankFile &operator=(const RankFile &) = delete;

    // Zeros at first.
    std::byte *memory() const { return memory_; }
    std::size_t bytes() const { return bytes_; }
    const std::string &path() const { return path_; }
    static std::string path(const std::string &folder, std::string_view ending,
                            const RankIdentity &me);

private:
    std::string path_;
    std::size_t bytes_;
    std::byte *memory_ = nullptr;
};

// The text in an array that may lack the final zero.
std::string text_of(const char *text, std::size_t most);
template<std::size_t N>
std::string text_of(const std::array<char, N> &text) {
    return text_of(text.data(), N);
}
// Cut off if it is too long.
template<std::size_t N>
void put_text(std::array<char, N> &to, std::string_view text) {
    to = {};
    text.copy(to.data(), N - 1);
}

// A whole file as 64-bit words, so that it is aligned; bytes after the last whole word are left
// out.  Throws Error(system): "cannot read the trace PATH: ...", where `what` is "the trace".
std::vector<std::uint64_t> read_words(const std::string &path, const char *what);

} // namespace stretto

// SPDX-License-Identifier: BSD-3-Clause
// The trace of a rank while it runs, shared by all of its communicators.
//
// Writing a record takes a place by one atomic addition and stores eight words there: any thread
// may do it, without locks or system calls.  The memory is that of a file, so no record is lost if
// the process is killed; `stretto trace` reads such files, too.  When the rank has ended or failed,
// the records are written to a JSON file beside it (events.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/rank_file.hpp"
#include "trace/format.hpp"

namespace stretto::trace {

using Identity = RankIdentity;

class Buffer {
public:
    // Makes the trace that the config asks for; null if it asks for none.  Throws Error if its file
    // cannot be made or has no room.
    static std::shared_ptr<Buffer> open(const Config::Trace &config, const Identity &me);

    Buffer(const std::string &folder, std::size_t bytes, const Identity &me);
    // Writes the JSON file if there are new records, and removes the binary file.
    ~Buffer();
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    void add(const Record &record);
    // The number by which records refer to a text; 0, which stands for "", if there is no more
    // room.
    std::uint32_t name(std::string_view text);
    // The number by which records refer to a communicator.
    std::uint16_t add_communicator(int rank, int size, std::string_view name);
    // Nanoseconds to add to this rank's clock to get the clock of the job's first rank.
    void set_offset(std::int64_t nanoseconds);

    // Throws Error.
    void write_json();
    const std::string &json_path() const { return json_path_; }

private:
    const RankFile raw_;
    const std::string json_path_;
    Header *header_ = nullptr;
    char *names_ = nullptr;
    Slot *slots_ = nullptr;
    std::uint64_t mask_ = 0;
    std::mutex mutex_; // of what follows
    std::map<std::string, std::uint32_t, std::less<>> known_;
    std::uint64_t written_ = 0; // records that the JSON file has seen
};

} // namespace stretto::trace

// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/mirror.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/memory.hpp"
#include "transport/shm/job_memory.hpp"

namespace stretto::transport {

Mirror::Mirror(std::size_t ring_bytes, std::size_t ranks)
    : ring_bytes_(ring_bytes), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      ranks_(ranks), file_(anonymous_file("stretto-mirror", 2 * ring_bytes * ranks)),
      rings_(ring_bytes, ranks), taken_(ranks), whole_(ranks) {
    for (std::size_t place = 0; place < ranks; ++place)
        rings_.map(rings_.cells(place), file_.get(), ring_bytes_ * place);
}

bool Mirror::open(std::size_t place, std::size_t first, std::size_t bytes) {
    constexpr std::size_t kGrantBytes = 256u
                                        << 10; // asking the kernel for each cell takes too long
    std::vector<bool> &taken = taken_[place];
    const std::size_t pages = ring_bytes_ / page_;
    if (taken.empty())
        taken.resize(pages);
    for (std::size_t next = first / page_; next * page_ < first + bytes; ++next) {
        const std::size_t page = next % pages; // may wrap around the end
        if (taken[page])
            continue;
        if (granted_ == 0 && has_room(kGrantBytes))
            granted_ = kGrantBytes;
        if (granted_ == 0 || !take(ring_bytes_ * place + page_ * page, page_))
            return false;
        granted_ -= page_;
        taken[page] = true;
    }
    return true;
}

bool Mirror::open_whole(std::size_t place) {
    const std::size_t cells = ring_bytes_ * place, bulk = ring_bytes_ * (ranks_ + place);
    if (!has_room(2 * ring_bytes_) || !take(cells, ring_bytes_) || !take(bulk, ring_bytes_))
        return false;
    taken_[place].assign(ring_bytes_ / page_, true);
    rings_.map(rings_.bulk(place), file_.get(), bulk);
    whole_[place] = true;
    return true;
}

bool Mirror::take(std::size_t first, std::size_t bytes) const {
    return posix_fallocate(file_.get(), static_cast<off_t>(first), static_cast<off_t>(bytes)) == 0;
}

} // namespace stretto::transport

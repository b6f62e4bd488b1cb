// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/attachments.hpp"

#include <unistd.h>

namespace stretto::transport {

Attachments::Attachments(const Xpmem &functions, int ranks, bool kept, const Limits &limits)
    : functions_(functions), kept_(kept),
      page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), limits_(limits),
      process_(getpid()), owners_(static_cast<std::size_t>(ranks)) {}

// A forked child has neither the attached memory nor the permits.
Attachments::~Attachments() {
    if (process_ != getpid())
        return;
    for (Owner &owner : owners_) {
        while (!owner.attached.empty())
            detach(owner, owner.attached.size() - 1);
        if (owner.permit != 0)
            (void)functions_.release(owner.permit);
    }
}

const std::byte *Attachments::find(int rank, std::int64_t segment, std::uint64_t address,
                                   std::size_t bytes) {
    Owner &owner = owners_[static_cast<std::size_t>(rank)];
    const std::uint64_t end = address + bytes;
    for (Attached &each : owner.attached)
        if (each.first <= address && end <= each.end) {
            each.step = step_;
            return each.at + (address - each.first);
        }
    if (owner.permit == 0) {
        const std::int64_t permit = functions_.permit_for(segment);
        if (permit <= 0)
            return nullptr;
        owner.permit = permit;
    }
    const auto round = [&](std::uint64_t unit) {
        return attach(owner, address / unit * unit, (end + unit - 1) / unit * unit);
    };
    const Attached *attached = kept_ ? round(limits_.granule_bytes) : nullptr;
    // A granule may go beyond the highest address of a process; pages do not.
    if (attached == nullptr)
        attached = round(page_bytes_);
    return attached == nullptr ? nullptr : attached->at + (address - attached->first);
}

void Attachments::end_step() {
    ++step_;
    if (kept_)
        return;
    for (Owner &owner : owners_)
        while (!owner.attached.empty())
            detach(owner, owner.attached.size() - 1);
}

const Attachments::Attached *Attachments::attach(Owner &owner, std::uint64_t first,
                                                 std::uint64_t end) {
    make_room(owner, end - first);
    owner.attached.reserve(owner.attached.size() + 1); // nothing may throw once it is attached
    std::byte *const at = functions_.attach_at(owner.permit, first, end - first);
    if (at == nullptr)
        return nullptr;
    owner.bytes += end - first;
    owner.attached.push_back({first, end, at, step_});
    return &owner.attached.back();
}

void Attachments::detach(Owner &owner, std::size_t index) {
    Attached &gone = owner.attached[index];
    (void)functions_.detach(gone.at);
    owner.bytes -= gone.end - gone.first;
    gone = owner.attached.back();
    owner.attached.pop_back();
}

// Those that this step uses stay, whatever they take.
void Attachments::make_room(Owner &owner, std::size_t bytes) {
    while (owner.bytes + bytes > limits_.most_bytes) {
        std::size_t oldest = owner.attached.size();
        for (std::size_t k = 0; k < owner.attached.size(); ++k)
            if (owner.attached[k].step != step_ &&
                (oldest == owner.attached.size() ||
                 owner.attached[k].step < owner.attached[oldest].step))
                oldest = k;
        if (oldest == owner.attached.size())
            return;
        detach(owner, oldest);
    }
}

} // namespace stretto::transport

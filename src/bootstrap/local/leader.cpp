// SPDX-License-Identifier: BSD-3-Clause
// The leader of a host: admits the members, makes the segment and hands it out.
#include <algorithm>
#include <array>
#include <new>
#include <poll.h>
#include <span>
#include <utility>

#include "base/interrupted.hpp"
#include "base/kernel_id.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/local/callers.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/phrases.hpp"
#include "bootstrap/shape.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

class Leader {
public:
    Leader(const LocalMeeting &meeting, Descriptor listener)
        : meeting_(meeting), listener_(std::move(listener)),
          callers_(listener_, meeting.me.rank, std::max(kMostRankRecordBytes, kAnswerBytes)),
          local_{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(meeting.me.size)),
                 meeting.me.rank},
          cores_(static_cast<std::size_t>(meeting.me.size)) {}

    LocalSegment run() {
        try {
            prepare();
            gather();
            listener_ = Descriptor(); // ranks that call from now on are of another job of this name
            create();
            hand_out();
            return std::move(local_);
        } catch (const Error &error) {
            refuse_all(error.status(), error.what());
            throw;
        } catch (const std::bad_alloc &) {
            refuse_all(Status::memory, "the rank that leads this host has no memory to start");
            throw;
        }
    }

private:
    void prepare();
    void note(RankRecord record);
    void gather();
    void admit(Descriptor caller, std::span<const std::byte> greeting);
    bool absent(int rank) const {
        return rank != meeting_.me.rank && !local_.sockets[static_cast<std::size_t>(rank)].open();
    }
    std::vector<int> missing() const;
    int rank_that_spoke() const;
    Error too_late() const;
    void create();
    void note_cores();
    void note_caches();
    void hand_out();
    void refuse_all(Status status, std::string_view why) noexcept;

    const LocalMeeting &meeting_;
    Descriptor listener_;
    Callers callers_;
    LocalSegment local_;
    std::vector<CoreSet> cores_;   // that each rank of this host may use
    CoreSet all_cores_;            // that they may use together
    bool of_this_process_ = false; // a failure now is one of this process's settings
};

void Leader::prepare() {
    of_this_process_ = true;
    if (meeting_.hosts != nullptr)
        meeting_.hosts->lead();
    RankRecord mine = own_record(meeting_);
    of_this_process_ = false;
    note(std::move(mine));
}

void Leader::note(RankRecord record) {
    cores_[static_cast<std::size_t>(record.rank)] = record.cores;
    all_cores_.add(record.cores);
    if (meeting_.hosts == nullptr)
        return;
    record.cores_here = cores_worth(all_cores_);
    record.kernel = kernel_id();
    meeting_.hosts->name(record);
}

std::vector<int> Leader::missing() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < meeting_.me.size; ++rank)
        if (absent(rank))
            ranks.push_back(rank);
    return ranks;
}

// Waits until all ranks have come.
void Leader::gather() {
    OtherHosts *hosts = meeting_.hosts;
    const int poll_ms = hosts == nullptr ? 100 : 2; // hosts are heard between two polls
    while (hosts == nullptr ? !missing().empty() : !hosts->all_named()) {
        meeting_.patience.watch();
        if (hosts == nullptr && meeting_.patience.ended())
            throw too_late();
        callers_.hear(poll_ms, [this](Descriptor caller, std::span<const std::byte> greeting) {
            admit(std::move(caller), greeting);
        });
        if (const int rank = rank_that_spoke(); rank >= 0)
            throw refusal_of(rank, local_.sockets[static_cast<std::size_t>(rank)].get());
    }
}

// A process has called.  If it is no rank of any job, the leader turns it away without harm.
void Leader::admit(Descriptor caller, std::span<const std::byte> greeting) {
    if (const auto answer = parse_answer(greeting); answer && answer->status != Status::ok)
        throw Error(answer->status, "a rank on " + net::host_name() +
                                        " could not join the job: " + answer->message);
    auto record = parse_rank_record(greeting);
    if (!record)
        return;
    const auto refuse = [&](const std::string &why) {
        send_answer(caller.get(), Status::mismatch, why);
        throw Error(Status::mismatch, why);
    };
    const Identity &me = meeting_.me;
    const int rank = record->rank;
    if (record->size != me.size)
        refuse(rank_here(rank) + " says that " + me.words() + " has " +
               std::to_string(record->size) + " ranks, rank " + std::to_string(me.rank) + " says " +
               std::to_string(me.size) + "; start all ranks of the job alike");
    if (rank < 0 || rank >= me.size || !absent(rank))
        refuse("two processes say that they are " + rank_here(rank) + ", of " + me.words() +
               "; give every job " +
               (meeting_.hosts == nullptr ? "a name of its own"
                                          : "an address of its own (" + me.address_from + ")"));
    Descriptor &socket = local_.sockets[static_cast<std::size_t>(rank)];
    socket = std::move(caller);
    note(std::move(*record));
    send_answer(socket.get(), Status::ok, kWelcome);
}

// A member that has said something over its socket or closed it; -1: there is none.
int Leader::rank_that_spoke() const {
    std::vector<pollfd> entries;
    for (const Descriptor &member : local_.sockets)
        entries.push_back({member.open() ? member.get() : -1, POLLIN, 0});
    if (poll_for(entries, 0) <= 0)
        return -1;
    const auto first = std::find_if(entries.begin(), entries.end(),
                                    [](const pollfd &each) { return each.revents != 0; });
    return static_cast<int>(first - entries.begin());
}

Error Leader::too_late() const {
    const Identity &me = meeting_.me;
    const std::size_t silent = callers_.silent();
    return Error(Status::timeout,
                 "after " + meeting_.patience.seconds() + " nothing was heard of rank(s)" +
                     listed(missing()) + " of " + me.words() +
                     " on this host; see whether they run, on this host and under this user, and "
                     "come to stretto_init" +
                     launch_hint(me) +
                     (silent == 0 ? ""
                                  : "; " + std::to_string(silent) +
                                        " process(es) have called and not said which rank they "
                                        "are: are they stopped?"));
}

void Leader::create() {
    local_.segment =
        Segment::create(meeting_.hosts != nullptr ? meeting_.hosts->shape()
                                                  : shape_for(meeting_.config, meeting_.me.size,
                                                              cores_worth(all_cores_)));
    note_cores();
    note_caches();
}

// Writes into the memory of the job what communicators that are made later need to know.
void Leader::note_cores() {
    transport::JobMemory &memory = *local_.segment->memory();
    memory.header().quota = quota();
    for (std::size_t rank = 0; rank < cores_.size(); ++rank)
        memory.rank(static_cast<int>(rank)).cores = cores_[rank];
}

// Writes into the segment which ranks of this host share a cache.
void Leader::note_caches() {
    std::vector<int> here;
    std::vector<CoreSet> cores;
    for (int rank = 0; rank < meeting_.me.size; ++rank)
        if (local_.segment->here(rank)) {
            here.push_back(rank);
            cores.push_back(cores_[static_cast<std::size_t>(rank)]);
        }
    if (here.size() == 1)
        return;
    const auto caches = caches_of(cores, Caches::read(all_cores_.processors()));
    for (std::size_t k = 0; k < caches.size(); ++k)
        local_.segment->lines(here[k]).cache.store(1 + caches[k], std::memory_order_relaxed);
}

void Leader::hand_out() {
    const Descriptor table = meeting_.hosts == nullptr ? Descriptor() : meeting_.hosts->table();
    const std::array descriptors{local_.segment->memory()->fd(), table.get()};
    const std::string leader = std::to_string(local_.leader);
    for (const Descriptor &member : local_.sockets)
        if (member.open())
            send_answer(member.get(), Status::ok, leader,
                        std::span(descriptors).first(table.open() ? std::size_t{2} : 1));
}

// Answers the ranks that have called and those that call now.  If this process lacks a descriptor,
// it expects all ranks to call: each rank that has its answer makes room for the next one.  Needs
// no memory, of which there may be none.
void Leader::refuse_all(Status status, std::string_view why) noexcept {
    int awaited = 0;
    for (int rank = 0; rank < meeting_.me.size; ++rank)
        awaited += absent(rank) ? 1 : 0;
    for (Descriptor &member : local_.sockets) {
        if (member.open())
            send_answer(member.get(), status, why);
        member = Descriptor();
    }
    // The leader tells the failure to ranks that call a little later as well; longer if it is this
    // process's own, which may come before any rank has called.  Rank 0 tells the ranks of several
    // hosts (network/rendezvous.hpp).
    const int stays_ms = meeting_.hosts != nullptr || status == Status::timeout ? 0
                         : of_this_process_ || status == Status::system
                             ? static_cast<int>(kStaysNs / 1'000'000)
                             : 500;
    if (listener_.open())
        callers_.answer(status, why, stays_ms, awaited);
}

} // namespace

LocalSegment lead(const LocalMeeting &meeting, Descriptor listener) {
    return Leader(meeting, std::move(listener)).run();
}

Error refusal_of(int rank, int fd) {
    std::array<std::byte, kAnswerBytes> bytes;
    const std::size_t size = receive(fd, bytes).size;
    const auto answer = size == bytes.size() ? parse_answer(bytes) : std::nullopt;
    return answer ? Error(answer->status,
                          rank_here(rank) + " could not join the job: " + answer->message)
                  : Error(Status::peer, rank_here(rank) + " died while the job was starting");
}

} // namespace stretto::bootstrap

// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/ucx_transport.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/lazy.hpp"
#include "base/status.hpp"
#include "base/warning.hpp"
#include "bootstrap/network/mesh.hpp"
#include "net/sockets.hpp"
#include "transport/remote/put_window.hpp"
#include "transport/ucx/rdma_devices.hpp"
#include "transport/ucx/ucx_links.hpp"

namespace stretto::bootstrap {

namespace ucp = transport::ucp;
using State = UcxGreeting::State;

namespace {

constexpr std::uint64_t kPinnedBytes = 64 << 20; // by default, for each MemoryUse

// Of callers' buffers.  Null: none is registered, and contributions are copied before they are
// sent.
std::shared_ptr<transport::RegistrationCache>
registrations(const std::shared_ptr<const ucp::OwnedContext> &context,
              std::optional<std::uint64_t> pinned_bytes) {
    if (pinned_bytes == 0)
        return nullptr;
    try {
        return std::make_shared<transport::RegistrationCache>(context,
                                                              pinned_bytes.value_or(kPinnedBytes));
    } catch (const Error &) { // UCX does not tell of unmapped memory
        return nullptr;
    }
}

// The links of a group while its ranks greet one another.
class UcxConnecting final : public transport::Connecting {
public:
    UcxConnecting(std::shared_ptr<UcxMeeting> meeting,
                  std::shared_ptr<const ucp::OwnedContext> context, const net::Key &key,
                  std::string place, transport::Group group,
                  std::optional<std::uint64_t> pinned_bytes,
                  std::shared_ptr<transport::RegistrationCache> buffers)
        : meeting_(std::move(meeting)), context_(std::move(context)), group_(std::move(group)),
          pinned_bytes_(pinned_bytes), buffers_(std::move(buffers)) {
        auto worker = std::make_unique<ucp::OwnedWorker>(context_);
        own_ = {std::move(place), worker->address()};
        const int size = static_cast<int>(group_.in_job.size()), me = group_.rank;
        std::vector<std::optional<transport::UcxLinks::Tokens>> tokens(group_.in_job.size());
        // The next rank first: so no rank is the first that all others greet.
        for (int step = 1; step < size; ++step) {
            const int rank = (me + step) % size;
            if (group_.placement.here(rank))
                continue;
            others_.push_back({rank, {}, {}, {}, 0, 0});
            tokens[static_cast<std::size_t>(rank)] = {
                transport::link_token(key, group_.epoch, me, rank),
                transport::link_token(key, group_.epoch, rank, me)};
        }
        links_ = std::make_unique<transport::UcxLinks>(std::move(worker), me, tokens);
    }

    // What has not come about.
    ~UcxConnecting() override {
        if (links_ != nullptr)
            meeting_->settle_later(std::move(links_));
    }

    void progress() override {
        meeting_->progress();
        std::size_t on_their_way = 0;
        for (Other &each : others_) {
            if (links_->connected(each.rank)) // it knows this rank, too
                continue;
            if (auto introduction = meeting_->heard(in_job(each.rank), group_.epoch, each.worker)) {
                each.place = std::move(introduction->place);
                each.worker = std::move(introduction->worker);
                say_hello(each);
            } else if (!links_->failure(each.rank).empty() && now_ns() >= each.hello_again_at) {
                say_hello(each);
            }
            if (!is_on_its_way(each) && now_ns() >= each.again_at &&
                on_their_way < group_.at_once) {
                each.greeting = meeting_->greet(in_job(each.rank), group_.epoch, own_);
                each.again_at = now_ns() + kAgainAfterNs;
            }
            on_their_way += is_on_its_way(each) ? 1u : 0u;
        }
        links_->connect();
    }
    bool complete() const override {
        return std::ranges::all_of(others_,
                                   [&](const Other &each) { return links_->connected(each.rank); });
    }
    void waits_for(std::vector<pollfd> &descriptors) const override {
        for (const int descriptor : {meeting_->arm(), links_->arm_alone()})
            if (descriptor >= 0)
                descriptors.push_back({descriptor, POLLIN, 0});
    }
    // Ranks that have not come go first: others may break off what they have because of them.
    std::string lacks() const override {
        std::string absent;
        std::vector<std::string> broken;
        for (const Other &each : others_)
            if (each.worker.empty())
                absent += (absent.empty() ? "" : ", ") + std::to_string(each.rank);
            else if (!links_->connected(each.rank))
                broken.push_back(std::to_string(each.rank) + " (" + so_far(each) + ")");
        std::string lacks =
            absent.empty() ? "" : "from rank(s) " + absent + " (nothing has come over UCX)";
        if (!broken.empty())
            lacks += (absent.empty() ? "to rank(s) " : "; to rank(s) ") + broken.front();
        return broken.size() > 1 ? lacks + " and " + std::to_string(broken.size() - 1) + " more"
                                 : lacks;
    }
    std::string remedy() const override {
        return "do the devices that UCX uses reach one another (ucx_info -d lists them, "
               "UCX_NET_DEVICES chooses among them)?  STRETTO_TRANSPORT=tcp does without UCX";
    }
    std::unique_ptr<transport::Links> links(transport::EventSet &events,
                                            transport::Segment &segment) override {
        meeting_->forget(group_.epoch);
        links_->join(events);
        links_->use(buffers_);
        if (pinned_bytes_)
            links_->put_anyhow();
        register_rings(segment);
        offer_windows(segment);
        return std::move(links_);
    }

private:
    // A greeting or a hello may be lost with a connection that breaks.
    static constexpr std::uint64_t kAgainAfterNs = 200'000'000;

    struct Other { // a rank of another host
        int rank;
        std::string place;
        std::vector<std::byte> worker; // its address, once it is known
        std::shared_ptr<const UcxGreeting> greeting;
        std::uint64_t again_at;       // unless it is heard
        std::uint64_t hello_again_at; // if the link has broken
    };

    int in_job(int rank) const { return group_.in_job[static_cast<std::size_t>(rank)]; }
    void say_hello(Other &other) {
        links_->meet(other.rank, other.place, other.worker);
        other.hello_again_at = now_ns() + kAgainAfterNs;
    }
    // Lets the others write into the mirror of their rings, the nearest ranks first, as far as
    // memory may be pinned: in most algorithms those are the ones that send.  Where UCX emulates
    // puts, messages are as good, and safer: UCX 1.13 aborts a process if a peer dies meanwhile.
    void offer_windows(transport::Segment &segment) {
        const int size = segment.ranks();
        const auto distance = [&](const Other &other) {
            const int after = (other.rank - group_.rank + size) % size;
            return std::min(after, size - after);
        };
        std::vector<Other *> nearest;
        for (Other &each : others_)
            nearest.push_back(&each);
        std::ranges::stable_sort(nearest, {}, [&](const Other *each) { return distance(*each); });
        std::string why;
        for (const Other *each : nearest) {
            const bool room =
                why.empty() && may_put(*each) && may_pin(ucp::MemoryUse::window, segment);
            try {
                links_->offer(each->rank,
                              room ? segment.open_window(each->rank) : transport::PutWindow());
            } catch (const Error &error) {
                why = error.what();
                links_->offer(each->rank, {}); // again, if it was not sent
            }
        }
        if (!why.empty())
            warn_unpinned("takes long payloads by messages instead of puts into its memory", why);
    }
    // Those of this rank, from which it sends what is no contribution.  Unregistered, UCX does what
    // it needs for each put.
    void register_rings(transport::Segment &segment) {
        if (std::ranges::none_of(others_, [&](const Other &each) { return may_put(each); }) ||
            !may_pin(ucp::MemoryUse::rings, segment))
            return;
        try {
            links_->register_rings(segment.open_window(group_.rank));
        } catch (const Error &error) {
            warn_unpinned("sends long payloads slower, as its rings are not registered",
                          error.what());
        }
    }
    bool may_put(const Other &other) const {
        return pinned_bytes_ || links_->device_puts(other.rank);
    }
    // Whether two rings more may be pinned for that use.
    bool may_pin(ucp::MemoryUse use, const transport::Segment &segment) const {
        return context_->registered_bytes(use) + 2 * segment.ring_bytes() <=
               pinned_bytes_.value_or(kPinnedBytes);
    }
    void warn_unpinned(const char *what, const std::string &why) const {
        warn("rank " + std::to_string(in_job(group_.rank)) + " " + what + ": " + why +
             " (the limit of locked memory, ulimit -l, may be too low; STRETTO_PINNED_BYTES=0 "
             "does without puts)");
    }
    static bool is_on_its_way(const Other &other) {
        return other.greeting != nullptr && other.greeting->state() == State::on_its_way;
    }
    std::string so_far(const Other &other) const {
        if (!links_->failure(other.rank).empty())
            return links_->failure(other.rank);
        return other.greeting != nullptr && other.greeting->state() == State::failed
                   ? other.greeting->why()
                   : "it has not answered over UCX";
    }

    const std::shared_ptr<UcxMeeting> meeting_;
    const std::shared_ptr<const ucp::OwnedContext> context_;
    const transport::Group group_;
    const std::optional<std::uint64_t> pinned_bytes_;
    const std::shared_ptr<transport::RegistrationCache> buffers_;
    UcxIntroduction own_;
    std::vector<Other> others_;
    std::unique_ptr<transport::UcxLinks> links_;
};

// Whether UCX has a device by which ranks of other hosts reach this one: it finds none on the way
// to the own address then.  UCX 1.13 aborts if an endpoint of RoCE is closed before its peer has
// answered.
bool reaches_network(const std::shared_ptr<const ucp::OwnedContext> &context) {
    ucp::OwnedWorker worker(context);
    try {
        ucp::Endpoint *const self = worker.connect(worker.address(), nullptr, nullptr);
        worker.settle(self);
        worker.close(self);
        return true;
    } catch (const Error &) {
        return false;
    }
}

constinit Lazy<UcxFactory> ucx;

std::string place_of(const transport::Opening &opening) {
    const std::string fake = host_named(opening.network.fake_hosts, opening.rank);
    return fake.empty() ? net::host_name() : fake;
}

} // namespace

UcxTransport::UcxTransport(const ucp::Library &library, const transport::Opening &opening)
    : key_(opening.key), place_(place_of(opening)), pinned_bytes_(opening.network.pinned_bytes),
      context_(std::make_shared<const ucp::OwnedContext>(
          library, static_cast<std::size_t>(opening.size),
          pinned_bytes_ == 0 ? ucp::Registers::no : ucp::Registers::yes)),
      buffers_(registrations(context_, pinned_bytes_)),
      meeting_(std::make_shared<UcxMeeting>(context_, key_, opening.rank)) {
    if (!reaches_network(context_))
        throw Error(Status::system,
                    std::string("UCX ") + library.version() +
                        " finds no device that it can use: ucx_info -d lists what it finds, and "
                        "UCX_TLS and UCX_NET_DEVICES choose among that");
}

void UcxTransport::meet(std::vector<std::vector<std::byte>> addresses, int) {
    meeting_->meet(std::move(addresses));
}

std::unique_ptr<transport::Connecting> UcxTransport::connect(const transport::Group &group) {
    return std::make_unique<UcxConnecting>(meeting_, context_, key_, place_, group, pinned_bytes_,
                                           buffers_);
}

std::string UcxFactory::missing(const transport::Opening &opening) const {
    const bool by_name = opening.network.transport == name();
    const std::string no_device = transport::no_rdma_device();
    if (!by_name && !no_device.empty()) // so a process without one does not load UCX
        return no_device;
    if (const std::string why = ucp::used_before_fork(); !why.empty())
        return why;
    try {
        const bool strangers_write = ucp::names_tcp(ucp::named_transports(ucp::library()));
        if (by_name && strangers_write)
            return "";
        if (const std::string fault = ucp::known_fault(ucp::library().version());
            !by_name && !fault.empty())
            return fault;
        return strangers_write
                   ? "UCX_TLS names tcp, and any process that connects to UCX's own TCP can "
                     "write into the memory of this one; set STRETTO_TRANSPORT to ucx if all "
                     "processes of "
                     "the network may, or take tcp out of UCX_TLS"
                   : no_device;
    } catch (const Error &error) {
        return error.what();
    }
}

std::unique_ptr<transport::RemoteTransport>
UcxFactory::open(const transport::Opening &opening) const {
    return std::make_unique<UcxTransport>(ucp::library(), opening);
}

const UcxFactory &ucx_factory() {
    return ucx.get([] { return UcxFactory(); });
}

} // namespace stretto::bootstrap

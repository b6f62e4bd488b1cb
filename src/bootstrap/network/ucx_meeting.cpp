// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/ucx_meeting.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace ucp = transport::ucp;

namespace {

constexpr unsigned kGreetingId = 1; // of the messages' handler

// The header of a greeting: | communicator 8 | from 4 | to 4 | proof 32 |
// Its bytes:                | length of the place 2 | place | address of a worker |
constexpr std::size_t kEpochBytes = 8, kProofBytes = 16, kGreetingBytes = 48;
constexpr std::size_t kMostPlaceBytes = 255;

std::vector<std::byte> written(const UcxIntroduction &own) {
    const std::string place = own.place.substr(0, kMostPlaceBytes);
    std::vector<std::byte> bytes(2);
    net::put(std::span(bytes), 0, static_cast<std::uint16_t>(place.size()));
    const auto text = std::as_bytes(std::span(place));
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.insert(bytes.end(), own.worker.begin(), own.worker.end());
    return bytes;
}

std::optional<UcxIntroduction> read(std::span<const std::byte> bytes) {
    if (bytes.size() < 2)
        return std::nullopt;
    const std::size_t length = net::get<std::uint16_t>(bytes, 0);
    if (length > kMostPlaceBytes || bytes.size() <= 2 + length)
        return std::nullopt;
    const auto *const text = reinterpret_cast<const char *>(bytes.data() + 2);
    const auto worker = bytes.subspan(2 + length);
    return UcxIntroduction{std::string(text, length), {worker.begin(), worker.end()}};
}

} // namespace

UcxMeeting::UcxMeeting(std::shared_ptr<const ucp::OwnedContext> context, const net::Key &key,
                       int rank)
    : key_(key), rank_(rank), worker_(std::make_unique<ucp::OwnedWorker>(std::move(context))),
      library_(worker_->library()) {
    worker_->handle(kGreetingId, &on_came, this);
}

UcxMeeting::~UcxMeeting() {
    constexpr std::uint64_t kSettleWithinNs = 100'000'000;
    for (const std::uint64_t start = now_ns();
         !unsettled_.empty() && now_ns() - start < kSettleWithinNs; usleep(1000))
        for (const auto &each : unsettled_)
            each->settle();
    for (Peer &each : peers_)
        if (each.endpoint != nullptr)
            worker_->close(each.endpoint);
    worker_.reset(); // which calls back for what was unfinished
}

void UcxMeeting::meet(std::vector<std::vector<std::byte>> addresses) {
    const std::lock_guard lock(mutex_);
    peers_.resize(addresses.size());
    for (std::size_t i = 0; i < peers_.size(); ++i)
        peers_[i].address = std::move(addresses[i]);
}

// Only ranks of the job can make it.
net::Bytes32 UcxMeeting::proof(std::uint64_t epoch, int from, int to,
                               std::span<const std::byte> bytes) const {
    return net::KeyedHash(key_, "stretto ucx greeting")
        .add(epoch)
        .add(static_cast<std::uint64_t>(from))
        .add(static_cast<std::uint64_t>(to))
        .add(bytes)
        .finish();
}

std::shared_ptr<const UcxGreeting> UcxMeeting::greet(int to, std::uint64_t epoch,
                                                     const UcxIntroduction &own) {
    auto greeting = std::make_shared<UcxGreeting>();
    greeting->meeting_ = this;
    greeting->bytes_ = written(own);
    greeting->header_.resize(kGreetingBytes);
    const std::span<std::byte> header(greeting->header_);
    net::put(header, 0, epoch);
    net::put(header, kEpochBytes, static_cast<std::uint32_t>(rank_));
    net::put(header, kEpochBytes + 4, static_cast<std::uint32_t>(to));
    const net::Bytes32 hash = proof(epoch, rank_, to, greeting->bytes_);
    std::memcpy(header.subspan(kProofBytes).data(), hash.data(), hash.size());

    const std::lock_guard lock(mutex_);
    Peer &peer = peers_[static_cast<std::size_t>(to)];
    if (peer.endpoint == nullptr) {
        try {
            peer.endpoint = worker_->connect(peer.address, &on_failed, &peer);
        } catch (const Error &error) { // the peer may have died, which its absence will show
            greeting->over(error.what());
            return greeting;
        }
    }
    greetings_.push_back(greeting);
    const auto parameters = ucp::RequestParameters::calling(&on_sent, greeting.get(),
                                                            ucp::RequestParameters::kEagerFlag);
    const ucp::Request request = library_.send(peer.endpoint, kGreetingId, greeting->header_.data(),
                                               greeting->header_.size(), greeting->bytes_.data(),
                                               greeting->bytes_.size(), &parameters);
    if (request == nullptr || ucp::is_error(request))
        greeting->over(why(ucp::error_of(request)));
    return greeting;
}

std::string UcxMeeting::why(ucp::Status status) const {
    return status == ucp::Status::ok ? "" : library_.status_string(status);
}

void UcxGreeting::over(std::string why) {
    why_ = std::move(why);
    state_.store(why_.empty() ? State::sent : State::failed, std::memory_order_release);
}

void UcxMeeting::on_sent(ucp::Request request, ucp::Status status, void *greeting) {
    auto &own = *static_cast<UcxGreeting *>(greeting);
    own.meeting_->library_.request_free(request);
    own.over(own.meeting_->why(status));
}

void UcxMeeting::progress() {
    const std::lock_guard lock(mutex_);
    (void)worker_->progress();
    for (Peer &each : peers_)
        if (std::exchange(each.broken, false) && each.endpoint != nullptr)
            worker_->close(std::exchange(each.endpoint, nullptr));
    std::erase_if(greetings_,
                  [](const auto &each) { return each->state() != UcxGreeting::State::on_its_way; });
}

int UcxMeeting::arm() {
    const std::lock_guard lock(mutex_);
    return worker_->arm() ? worker_->descriptor() : -1;
}

void UcxMeeting::on_failed(void *peer, ucp::Endpoint *endpoint, ucp::Status) {
    auto &own = *static_cast<Peer *>(peer);
    own.broken = own.broken || endpoint == own.endpoint; // else it is closed
}

std::optional<UcxIntroduction> UcxMeeting::heard(int from, std::uint64_t epoch,
                                                 std::span<const std::byte> known) {
    const std::lock_guard lock(mutex_);
    const auto found = heard_.find({epoch, from});
    if (found == heard_.end() || std::ranges::equal(found->second.worker, known))
        return std::nullopt;
    return found->second;
}

void UcxMeeting::settle_later(std::unique_ptr<transport::UcxLinks> links) {
    const std::lock_guard lock(mutex_);
    unsettled_.push_back(std::move(links));
}

void UcxMeeting::forget(std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    heard_.erase(heard_.lower_bound({epoch, 0}), heard_.upper_bound({epoch, INT_MAX}));
}

// Within progress().  Memory that there is not ends in a greeting that does not come.
ucp::Status UcxMeeting::on_came(void *argument, const void *header, std::size_t header_length,
                                void *data, std::size_t length,
                                const ucp::MessageParameters *parameters) {
    if (header_length == kGreetingBytes &&
        (parameters->set & ucp::MessageParameters::kRendezvousFlag) == 0) {
        try {
            static_cast<UcxMeeting *>(argument)->take_greeting(
                {static_cast<const std::byte *>(header), header_length},
                {static_cast<const std::byte *>(data), length});
        } catch (const std::bad_alloc &) {
        }
    }
    return ucp::Status::ok;
}

// What a stranger sends is ignored.
void UcxMeeting::take_greeting(std::span<const std::byte> header,
                               std::span<const std::byte> bytes) {
    const auto epoch = net::get<std::uint64_t>(header, 0);
    const auto from = net::get<std::uint32_t>(header, kEpochBytes);
    const auto to = net::get<std::uint32_t>(header, kEpochBytes + 4);
    net::Bytes32 hash;
    std::memcpy(hash.data(), header.subspan(kProofBytes).data(), hash.size());
    if (to != static_cast<std::uint32_t>(rank_) || from >= peers_.size() ||
        !net::same(hash, proof(epoch, static_cast<int>(from), rank_, bytes)))
        return;
    if (auto introduction = read(bytes))
        heard_.insert_or_assign({epoch, static_cast<int>(from)}, std::move(*introduction));
}

} // namespace stretto::bootstrap

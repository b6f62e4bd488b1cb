// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_links.hpp"

#include <cstring>
#include <utility>

#include "base/status.hpp"
#include "net/bytes.hpp"

namespace stretto::transport {

namespace {

constexpr unsigned kPacketId = 1; // of the messages' handler
// A rank that looks without success flushes after this many looks, and before it sleeps: a flush
// for each message would cost as much as the message.
constexpr unsigned kFlushAfterLooks = 16;

// Tells workers of a rank apart.
std::uint64_t mark_of(std::span<const std::byte> address) {
    const net::Bytes32 hash = net::KeyedHash("stretto ucx worker").add(address).finish();
    return net::get<std::uint64_t>(hash, 0);
}

} // namespace

UcxLinks::UcxLinks(std::unique_ptr<ucp::OwnedWorker> worker, int rank,
                   const std::vector<std::optional<Tokens>> &tokens)
    : worker_(std::move(worker)), library_(worker_->library()), rank_(rank),
      mark_(mark_of(worker_->address())), links_(tokens.size()) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        Link &each = links_[i];
        each.all = this;
        each.rank = static_cast<int>(i);
        each.open = tokens[i].has_value();
        if (each.open)
            each.tokens = *tokens[i];
    }
    worker_->handle(kPacketId, &on_came, this);
}

UcxLinks::~UcxLinks() {
    ending_ = true;
    if (events_ != nullptr)
        events_->unwatch(worker_->descriptor());
    for (Link &each : links_)
        give_up(each);
    for (const Waiting &each : waiting_)
        if (each.message != nullptr)
            library_.release(worker_->get(), each.message);
    worker_.reset(); // which calls back once more for what was unfinished
}

void UcxLinks::connect() {
    (void)worker_->progress();
    if (error_ != nullptr)
        std::rethrow_exception(std::exchange(error_, nullptr));
}

void UcxLinks::meet(int rank, std::string place, std::span<const std::byte> address) {
    Link &peer = link(rank);
    close(peer);
    peer.failure.clear();
    peer.place = std::move(place);
    peer.turn = 1;
    peer.met = mark_of(address);
    try {
        peer.endpoint = worker_->connect(address, &on_failed, &peer);
    } catch (const Error &error) { // the address may be of an earlier attempt
        peer.failure = error.what();
        return;
    }
    send(peer, {kHelloKind, 0, 0, mark_, 0, 0}, nullptr);
}

bool UcxLinks::connected(int rank) const {
    const Link &peer = link(rank);
    return peer.endpoint != nullptr && peer.failure.empty() && peer.heard == peer.met;
}

void UcxLinks::join(EventSet &events) {
    events_ = &events;
    events.watch(events.add(*this), worker_->descriptor());
}

void UcxLinks::send(int to, const WireMessage &packet, const std::byte *payload, bool) {
    // Callers have their buffers back when their calls have failed.
    if (packet.kind == WireMessage::failure && !std::exchange(failed_, true))
        for (Link &each : links_)
            drop_held(each);
    if (may_be_put(packet))
        send_long(link(to), packet, payload);
    else
        send(link(to), packet, payload);
}

void UcxLinks::push(Which) {
    if (std::exchange(puts_due_, false))
        advance_puts();
}

void UcxLinks::send(Link &peer, const WireMessage &packet, const std::byte *payload) {
    if (peer.endpoint == nullptr || !peer.failure.empty())
        return;
    if (free_.empty()) {
        free_.push_back(&sendings_.emplace_back());
        free_.reserve(sendings_.size()); // on_sent() must not throw
    }
    Sending &sending = *free_.back();
    free_.pop_back(); // the library may end other sends meanwhile
    const bool ordered = !may_overtake(packet);
    const bool whole = ordered || packet.kind == kOfferKind;
    ++counts_.messages;
    sending.all = this;
    sending.header = {peer.tokens.out,
                      static_cast<std::uint32_t>(rank_),
                      ordered ? peer.turn : 0,
                      packet.position,
                      packet.flag,
                      packet.where,
                      packet.length,
                      packet.kind,
                      packet.flags,
                      0};
    // Packets that keep their order come whole: none of them waits while the payload of another is
    // fetched.
    auto parameters = ucp::RequestParameters::calling(
        &on_sent, &sending, whole ? ucp::RequestParameters::kEagerFlag : 0);
    const std::size_t follows = is_placed(packet) ? 0 : packet.length;
    if (follows > kMostCopiedBytes) {
        const Registered from = in_rings(payload, follows);
        sending.from = from.registration;
        if (sending.from == nullptr && buffers_ != nullptr) // it goes round the end of a ring
            sending.from = buffers_->take(payload, follows);
        payload = from.first;
        parameters.use(sending.from != nullptr ? sending.from->get() : nullptr);
    }
    const ucp::Request request =
        library_.send(peer.endpoint, kPacketId, &sending.header, sizeof(sending.header), payload,
                      follows, &parameters);
    if (request != nullptr && !ucp::is_error(request)) {
        ++unsent_;
    } else {
        sending.from.reset();
        free_.push_back(&sending);
    }
    if (ucp::is_error(request))
        return on_failed(&peer, peer.endpoint, ucp::error_of(request));
    if (ordered)
        peer.turn = InTurn<Early>::after(peer.turn);
    to_flush(peer);
}

void UcxLinks::on_sent(ucp::Request request, ucp::Status, void *sending) {
    auto &own = *static_cast<Sending *>(sending);
    own.all->library_.request_free(request);
    own.from.reset();
    own.all->free_.push_back(&own);
    --own.all->unsent_;
}

void UcxLinks::to_flush(Link &link) {
    if (!std::exchange(link.unflushed, true) && !link.flushing())
        ++unflushed_;
}

// Where payloads are ahead of their flags, flushes of theirs go on and will cover the rest.
void UcxLinks::flush() {
    for (Link &each : links_)
        if (each.puts.cells.empty())
            flush(each);
}

void UcxLinks::flush(Link &link) {
    const auto free = std::ranges::find(link.flushes, nullptr, &Flushing::link);
    if (link.endpoint == nullptr || !link.unflushed || free == link.flushes.end())
        return;
    const auto parameters = ucp::RequestParameters::calling(&on_flushed, &*free);
    link.unflushed = false;
    link.puts.covered = link.puts.put;
    *free = {&link, link.puts.put};
    const ucp::Request request = library_.flush(link.endpoint, &parameters);
    if (request == nullptr || ucp::is_error(request))
        flushed(*free, request == nullptr);
}

void UcxLinks::on_flushed(ucp::Request request, ucp::Status status, void *flush) {
    auto &own = *static_cast<Flushing *>(flush);
    UcxLinks &all = *own.link->all;
    all.library_.request_free(request);
    all.flushed(own, status == ucp::Status::ok);
}

// What was put before the flush lies in the peer's memory.
void UcxLinks::flushed(Flushing &flush, bool complete) noexcept {
    Link &link = *std::exchange(flush.link, nullptr);
    Puts &puts = link.puts;
    const bool places = complete && flush.covers > puts.placed;
    if (places)
        puts.placed = flush.covers;
    puts.covered = puts.placed;
    for (const Flushing &each : link.flushes)
        if (each.link != nullptr)
            puts.covered = std::max(puts.covered, each.covers);
    if (places || puts.put > puts.covered)
        link.unflushed = true; // cells follow, or another flush
    puts_due_ = puts_due_ || !puts.cells.empty() || !puts.held.empty();
    if (!link.unflushed && !link.flushing())
        --unflushed_;
}

bool UcxLinks::arm() {
    const bool to_report = std::ranges::any_of(
        links_, [](const Link &each) { return each.open && !each.failure.empty(); });
    if (to_report || error_ != nullptr || !waiting_.empty() || puts_due_)
        return false; // progress() has something to do at once
    if (unflushed_ != 0)
        flush();
    return !puts_due_ && worker_->arm(); // a flush may be done at once
}

bool UcxLinks::progress(Receiver &receiver, const EventSet::Ready &) {
    receiver_ = &receiver;
    any_ = false;
    if (!waiting_.empty())
        guarded([&] { take_waiting(); });
    if (worker_->progress())
        idle_looks_ = 0;
    else if (unflushed_ != 0 && ++idle_looks_ % kFlushAfterLooks == 0)
        flush();
    receiver_ = nullptr;
    if (std::exchange(puts_due_, false))
        advance_puts();
    for (Link &each : links_) {
        if (!each.open || each.failure.empty())
            continue;
        const std::string why = std::exchange(each.failure, "");
        give_up(each);
        receiver.broken(each.rank, why);
        any_ = true;
    }
    if (error_ != nullptr)
        std::rethrow_exception(std::exchange(error_, nullptr));
    return any_;
}

// The callbacks of what is unfinished come before this returns, or with later progress.
void UcxLinks::give_up(Link &link) noexcept {
    link.open = false;
    close(link);
    link.window.reset(); // what the peer writes is refused when UCX deregisters it
}

void UcxLinks::close(Link &link) noexcept {
    if (link.endpoint == nullptr)
        return;
    worker_->close(std::exchange(link.endpoint, nullptr), std::exchange(link.puts.key, nullptr));
    drop_held(link);
    link.puts.cells.clear();
    link.puts.placed = link.puts.covered = link.puts.put;
    if (std::exchange(link.unflushed, false) && !link.flushing())
        --unflushed_;
}

// The rest comes with progress(), which may not be called here.
void UcxLinks::on_failed(void *link, ucp::Endpoint *endpoint, ucp::Status status) {
    auto &own = *static_cast<Link *>(link);
    if (endpoint != own.endpoint)
        return; // one that is closed
    own.all->guarded([&] {
        if (own.failure.empty())
            own.failure = "rank " + std::to_string(own.rank) + " (" + own.place +
                          "): its link over UCX broke: " + own.all->library_.status_string(status);
    });
}

} // namespace stretto::transport

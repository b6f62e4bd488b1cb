// SPDX-License-Identifier: BSD-3-Clause
// The transport UCX of a rank: it meets the other ranks by a worker of the job (ucx_meeting.hpp),
// and makes a worker for each communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/network/ucx_meeting.hpp"
#include "net/crypto.hpp"
#include "transport/remote/factory.hpp"
#include "transport/ucx/registration_cache.hpp"

namespace stretto::bootstrap {

class UcxTransport final : public transport::RemoteTransport {
public:
    UcxTransport(const transport::ucp::Library &library, const transport::Opening &opening);

    std::vector<std::byte> address() const override { return meeting_->address(); }
    void meet(std::vector<std::vector<std::byte>> addresses, int lanes) override;
    std::unique_ptr<transport::Connecting> connect(const transport::Group &group) override;

private:
    const net::Key key_;
    const std::string place_;                         // of this host, for the others
    const std::optional<std::uint64_t> pinned_bytes_; // STRETTO_PINNED_BYTES
    const std::shared_ptr<const transport::ucp::OwnedContext> context_;
    const std::shared_ptr<transport::RegistrationCache> buffers_; // null: none
    const std::shared_ptr<UcxMeeting> meeting_;
};

// Which ranks use it: by STRETTO_TRANSPORT=auto, those with a device for RDMA, since where UCX has
// only TCP beneath, Stretto's own is better.  UCX's own TCP is used only if STRETTO_TRANSPORT=ucx
// and UCX_TLS names it (without_unnamed_tcp()).
class UcxFactory final : public transport::TransportFactory {
public:
    std::string_view name() const override { return "ucx"; }
    std::uint16_t version() const override { return 2; } // 2: with offers
    std::string missing(const transport::Opening &opening) const override;
    std::unique_ptr<transport::RemoteTransport>
    open(const transport::Opening &opening) const override;
    bool is_address(std::span<const std::byte> bytes) const override { return !bytes.empty(); }
};
const UcxFactory &ucx_factory();

} // namespace stretto::bootstrap

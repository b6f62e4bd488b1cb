// SPDX-License-Identifier: BSD-3-Clause
// What is declared of UCP's binary interface, beside UCX's own headers.  Compiled where they are
// installed.
#include "doctest.h"

#include <ucm/api/ucm.h>
#include <ucp/api/ucp.h>

#include "transport/ucx/ucp_abi.hpp"

namespace ucp = stretto::transport::ucp;

namespace {

// Sizes may differ: UCX appends fields.
template<class Own, class Real, class OwnField, class RealField>
bool same_place(OwnField Own::*own, RealField Real::*real) {
    static const Own a{};
    static const Real b{};
    return reinterpret_cast<const char *>(&(a.*own)) - reinterpret_cast<const char *>(&a) ==
               reinterpret_cast<const char *>(&(b.*real)) - reinterpret_cast<const char *>(&b) &&
           sizeof(a.*own) == sizeof(b.*real);
}

} // namespace

static_assert(sizeof(ucp::Status) == sizeof(ucs_status_t));
static_assert(static_cast<int>(ucp::Status::ok) == UCS_OK);
static_assert(static_cast<int>(ucp::Status::in_progress) == UCS_INPROGRESS);
static_assert(static_cast<int>(ucp::Status::busy) == UCS_ERR_BUSY);
static_assert(static_cast<int>(ucp::Status::canceled) == UCS_ERR_CANCELED);
static_assert(static_cast<int>(ucp::Status::last_error) == UCS_ERR_LAST);
static_assert(sizeof(ucp::ThreadMode) == sizeof(ucs_thread_mode_t));
static_assert(static_cast<int>(ucp::serialized) == UCS_THREAD_MODE_SERIALIZED);
static_assert(static_cast<int>(ucp::multi) == UCS_THREAD_MODE_MULTI);
static_assert(static_cast<int>(ucp::host) == UCS_MEMORY_TYPE_HOST);
static_assert(ucp::kApiMajorVersion == UCP_API_MAJOR);

TEST_CASE("bits are those of UCX's headers") {
    CHECK(ucp::LibraryAttributes::kMaxThreadLevelFlag == UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL);
    CHECK(ucp::Parameters::kFeaturesFlag == UCP_PARAM_FIELD_FEATURES);
    CHECK(ucp::Parameters::kWorkersSharedFlag == UCP_PARAM_FIELD_MT_WORKERS_SHARED);
    CHECK(ucp::Parameters::kEndpointsFlag == UCP_PARAM_FIELD_ESTIMATED_NUM_EPS);
    CHECK(ucp::Parameters::kWakeupFlag == UCP_FEATURE_WAKEUP);
    CHECK(ucp::Parameters::kMessagesFlag == UCP_FEATURE_AM);
    CHECK(ucp::WorkerParameters::kThreadModeFlag == UCP_WORKER_PARAM_FIELD_THREAD_MODE);
    CHECK(ucp::WorkerAttributes::kThreadModeFlag == UCP_WORKER_ATTR_FIELD_THREAD_MODE);
    CHECK(ucp::WorkerAttributes::kAddressFlag == UCP_WORKER_ATTR_FIELD_ADDRESS);
    CHECK(ucp::WorkerAttributes::kAddressFlagsFlag == UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS);
    CHECK(ucp::WorkerAttributes::kNetworkOnlyFlag == UCP_WORKER_ADDRESS_FLAG_NET_ONLY);
    CHECK(ucp::EndpointParameters::kAddressFlag == UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
    CHECK(ucp::EndpointParameters::kErrorModeFlag == UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE);
    CHECK(ucp::EndpointParameters::kErrorHandlerFlag == UCP_EP_PARAM_FIELD_ERR_HANDLER);
    CHECK(ucp::EndpointParameters::kPeerErrorsOption == UCP_ERR_HANDLING_MODE_PEER);
    CHECK(ucp::RequestParameters::kCallbackFlag == UCP_OP_ATTR_FIELD_CALLBACK);
    CHECK(ucp::RequestParameters::kUserDataFlag == UCP_OP_ATTR_FIELD_USER_DATA);
    CHECK(ucp::RequestParameters::kFlagsFlag == UCP_OP_ATTR_FIELD_FLAGS);
    CHECK(ucp::RequestParameters::kMemoryTypeFlag == UCP_OP_ATTR_FIELD_MEMORY_TYPE);
    CHECK(ucp::RequestParameters::kMemoryFlag == UCP_OP_ATTR_FIELD_MEMH);
    CHECK(ucp::MemoryEvent::kUnmappedFlag == UCM_EVENT_VM_UNMAPPED);
    CHECK(ucp::RequestParameters::kEagerFlag == UCP_AM_SEND_FLAG_EAGER);
    CHECK(ucp::RequestParameters::kForceFlag == UCP_EP_CLOSE_FLAG_FORCE);
    CHECK(ucp::MessageParameters::kRendezvousFlag == UCP_AM_RECV_ATTR_FLAG_RNDV);
    CHECK(ucp::HandlerParameters::kIdFlag == UCP_AM_HANDLER_PARAM_FIELD_ID);
    CHECK(ucp::HandlerParameters::kFlagsFlag == UCP_AM_HANDLER_PARAM_FIELD_FLAGS);
    CHECK(ucp::HandlerParameters::kCallbackFlag == UCP_AM_HANDLER_PARAM_FIELD_CB);
    CHECK(ucp::HandlerParameters::kArgumentFlag == UCP_AM_HANDLER_PARAM_FIELD_ARG);
    CHECK(ucp::HandlerParameters::kWholeFlag == UCP_AM_FLAG_WHOLE_MSG);
    CHECK(ucp::Parameters::kPutsFlag == UCP_FEATURE_RMA);
    CHECK(ucp::MemoryParameters::kAddressFlag == UCP_MEM_MAP_PARAM_FIELD_ADDRESS);
    CHECK(ucp::MemoryParameters::kLengthFlag == UCP_MEM_MAP_PARAM_FIELD_LENGTH);
    CHECK(ucp::MemoryParameters::kMemoryTypeFlag == UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE);
}

TEST_CASE("fields lie where UCX's headers have them") {
    using ucp::EndpointParameters, ucp::HandlerParameters, ucp::LibraryAttributes,
        ucp::MemoryParameters, ucp::MessageParameters, ucp::Parameters, ucp::RequestParameters,
        ucp::WorkerAttributes, ucp::WorkerParameters;
    CHECK(same_place(&LibraryAttributes::set, &ucp_lib_attr_t::field_mask));
    CHECK(same_place(&LibraryAttributes::max_thread_level, &ucp_lib_attr_t::max_thread_level));
    CHECK(same_place(&Parameters::set, &ucp_params_t::field_mask));
    CHECK(same_place(&Parameters::features, &ucp_params_t::features));
    CHECK(same_place(&Parameters::workers_shared, &ucp_params_t::mt_workers_shared));
    CHECK(same_place(&Parameters::endpoints, &ucp_params_t::estimated_num_eps));
    CHECK(same_place(&WorkerParameters::set, &ucp_worker_params_t::field_mask));
    CHECK(same_place(&WorkerParameters::thread_mode, &ucp_worker_params_t::thread_mode));
    CHECK(same_place(&WorkerAttributes::set, &ucp_worker_attr_t::field_mask));
    CHECK(same_place(&WorkerAttributes::thread_mode, &ucp_worker_attr_t::thread_mode));
    CHECK(same_place(&WorkerAttributes::address_flags, &ucp_worker_attr_t::address_flags));
    CHECK(same_place(&WorkerAttributes::address, &ucp_worker_attr_t::address));
    CHECK(same_place(&WorkerAttributes::address_length, &ucp_worker_attr_t::address_length));
    CHECK(same_place(&EndpointParameters::set, &ucp_ep_params_t::field_mask));
    CHECK(same_place(&EndpointParameters::address, &ucp_ep_params_t::address));
    CHECK(same_place(&EndpointParameters::error_mode, &ucp_ep_params_t::err_mode));
    CHECK(same_place(&EndpointParameters::error_handler, &ucp_ep_params_t::err_handler));
    CHECK(same_place(&RequestParameters::set, &ucp_request_param_t::op_attr_mask));
    CHECK(same_place(&RequestParameters::flags, &ucp_request_param_t::flags));
    CHECK(same_place(&RequestParameters::sent, &ucp_request_param_t::cb));
    CHECK(same_place(&RequestParameters::received, &ucp_request_param_t::cb));
    CHECK(same_place(&RequestParameters::datatype, &ucp_request_param_t::datatype));
    CHECK(same_place(&RequestParameters::user_data, &ucp_request_param_t::user_data));
    CHECK(same_place(&RequestParameters::memory_type, &ucp_request_param_t::memory_type));
    CHECK(same_place(&RequestParameters::memory, &ucp_request_param_t::memh));
    CHECK(offsetof(ucp::MemoryEvent, bytes) == offsetof(ucm_event_t, vm_unmapped.size));
    CHECK(same_place(&MessageParameters::set, &ucp_am_recv_param_t::recv_attr));
    CHECK(same_place(&HandlerParameters::set, &ucp_am_handler_param_t::field_mask));
    CHECK(same_place(&HandlerParameters::id, &ucp_am_handler_param_t::id));
    CHECK(same_place(&HandlerParameters::flags, &ucp_am_handler_param_t::flags));
    CHECK(same_place(&HandlerParameters::came, &ucp_am_handler_param_t::cb));
    CHECK(same_place(&HandlerParameters::argument, &ucp_am_handler_param_t::arg));
    CHECK(same_place(&MemoryParameters::set, &ucp_mem_map_params_t::field_mask));
    CHECK(same_place(&MemoryParameters::address, &ucp_mem_map_params_t::address));
    CHECK(same_place(&MemoryParameters::length, &ucp_mem_map_params_t::length));
    CHECK(same_place(&MemoryParameters::memory_type, &ucp_mem_map_params_t::memory_type));
}

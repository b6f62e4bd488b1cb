// SPDX-License-Identifier: BSD-3-Clause
// By UCX, as Stretto does it (src/transport/ucx/ucx_puts.cpp): the payload is put, the endpoint is
// flushed, one flush at a time, and when a flush has ended, a short message goes for each slice
// that was put before it began.
//
// The device sends what it is given in order, so a message waits for all that was put before it.
// Two other ways of UCX make flags come earlier: at most two slices are put whose messages have not
// gone, or the flag is put behind a fence, without a flush, to where the receiver looks for it.
#include <string.h>
#include <ucp/api/ucp.h>

#include "rdma_bench.h"

enum { MESSAGE = 1, MOST_ROUNDS = 64, AHEAD = 2 };
static const uint32_t hello = UINT32_MAX;

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_rkey_h key, flags_key;
static uint64_t peer_window, peer_flags;
static bool greeted;
// Slices that were given to send, of which those below `put_cells` were put, those below `covered`
// before the last flush began; those below `flushed` lie in the peer's memory, those below `told`
// have their message.
static struct cell {
    struct flag flag;
    const void *from;
    size_t bytes, at;
    void *registration;
} cells[MOST_SLICES];
static size_t given, put_cells, covered, flushed, told, most_ahead;
static bool flushing;
static struct flag own_flags[MOST_SLICES]; // that the peer puts; each holds its slice and one
static uint32_t fenced;                    // flags that have come so
static size_t operations;                  // that are not complete

static void fine(ucs_status_t status, const char *what) {
    if (status != UCS_OK)
        need(false, what);
}

static void begun(ucs_status_ptr_t request, const char *what) {
    if (UCS_PTR_IS_ERR(request))
        need(false, what);
    if (UCS_PTR_IS_PTR(request))
        ++operations;
}

static void on_sent(void *request, ucs_status_t status, void *unused) {
    (void)unused;
    fine(status, "an operation of UCX");
    ucp_request_free(request);
    --operations;
}

static ucs_status_t on_came(void *unused, const void *header, size_t header_bytes, void *data,
                            size_t bytes, const ucp_am_recv_param_t *parameters) {
    (void)unused, (void)data, (void)parameters;
    struct flag flag;
    need(header_bytes == sizeof(flag) && bytes == 0, "a message of another kind");
    memcpy(&flag, header, sizeof(flag));
    if (flag.slice == hello)
        greeted = true;
    else
        flag_came(flag.slice);
    return UCS_OK;
}

static ucp_mem_h map(void *first, size_t bytes) {
    const ucp_mem_map_params_t parameters = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                           UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                                           UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
                                             .address = first,
                                             .length = bytes,
                                             .memory_type = UCS_MEMORY_TYPE_HOST};
    ucp_mem_h memory = NULL;
    fine(ucp_mem_map(context, &parameters, &memory), "ucp_mem_map");
    return memory;
}

// What the peer has to know: two addresses of memory, three lengths, the worker's address, keys.
static void open_ucx(void *window, size_t bytes, void *address) {
    ucp_config_t *config = NULL;
    fine(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    const ucp_params_t parameters = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP | UCP_FEATURE_AM,
        .mt_workers_shared = 1,
        .estimated_num_eps = 2};
    fine(ucp_init(&parameters, config, &context), "ucp_init");
    ucp_config_release(config);
    const ucp_worker_params_t serialized = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                            .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    fine(ucp_worker_create(context, &serialized, &worker), "ucp_worker_create");
    const ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                          UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                          UCP_AM_HANDLER_PARAM_FIELD_CB,
                                            .id = MESSAGE,
                                            .flags = UCP_AM_FLAG_WHOLE_MSG,
                                            .cb = on_came};
    fine(ucp_worker_set_am_recv_handler(worker, &handler), "ucp_worker_set_am_recv_handler");
    ucp_worker_attr_t attributes = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS |
                                                  UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                                    .address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY};
    fine(ucp_worker_query(worker, &attributes), "ucp_worker_query");
    const struct own {
        void *first;
        size_t bytes;
    } memory[2] = {{window, bytes}, {own_flags, sizeof(own_flags)}};
    void *packed[2] = {NULL, NULL};
    uint64_t head[5] = {(uintptr_t)window, (uintptr_t)own_flags, attributes.address_length};
    for (int i = 0; i < 2; ++i) {
        size_t length = 0;
        fine(ucp_rkey_pack(context, map(memory[i].first, memory[i].bytes), &packed[i], &length),
             "ucp_rkey_pack");
        head[3 + i] = length;
    }
    need(sizeof(head) + head[2] + head[3] + head[4] <= MOST_ADDRESS_BYTES, "room for an address");
    char *to = address;
    memcpy(to, head, sizeof(head));
    memcpy(to += sizeof(head), attributes.address, head[2]);
    memcpy(to += head[2], packed[0], head[3]);
    memcpy(to + head[3], packed[1], head[4]);
    ucp_rkey_buffer_release(packed[0]);
    ucp_rkey_buffer_release(packed[1]);
    ucp_worker_release_address(worker, attributes.address);
}

static void message(const struct flag *flag) {
    const ucp_request_param_t parameters = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                            UCP_OP_ATTR_FIELD_FLAGS |
                                                            UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                            .flags = UCP_AM_SEND_FLAG_EAGER,
                                            .cb.send = on_sent,
                                            .memory_type = UCS_MEMORY_TYPE_HOST};
    begun(ucp_am_send_nbx(endpoint, MESSAGE, flag, sizeof(*flag), NULL, 0, &parameters),
          "ucp_am_send_nbx");
}

static void flush_ended(void) {
    flushed = covered;
    flushing = false;
}

static void on_flushed(void *request, ucs_status_t status, void *unused) {
    on_sent(request, status, unused);
    flush_ended();
}

static void flush(void) {
    const ucp_request_param_t parameters = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK,
                                            .cb.send = on_flushed};
    covered = put_cells;
    flushing = true;
    const ucs_status_ptr_t request = ucp_ep_flush_nbx(endpoint, &parameters);
    begun(request, "ucp_ep_flush_nbx");
    if (request == NULL)
        flush_ended();
}

static void put(const void *from, size_t bytes, uint64_t to, ucp_rkey_h to_key,
                void *registration) {
    ucp_request_param_t parameters = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                      UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                      .cb.send = on_sent,
                                      .memory_type = UCS_MEMORY_TYPE_HOST};
    if (registration != NULL) {
        parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        parameters.memh = registration;
    }
    begun(ucp_put_nbx(endpoint, from, bytes, to, to_key, &parameters), "ucp_put_nbx");
}

static void advance(void) {
    while (told < flushed)
        message(&cells[told++ % MOST_SLICES].flag);
    while (put_cells < given && put_cells - told < most_ahead) {
        const struct cell *const cell = &cells[put_cells++ % MOST_SLICES];
        put(cell->from, cell->bytes, peer_window + cell->at, key, cell->registration);
    }
    if (!flushing && flushed < put_cells)
        flush();
}

static void progress_ucx(void) {
    for (int round = 0; round < MOST_ROUNDS && ucp_worker_progress(worker) != 0; ++round)
        ;
    advance();
}

static void connect_ucx(const void *address) {
    uint64_t head[5];
    memcpy(head, address, sizeof(head));
    const char *const from = (const char *)address + sizeof(head);
    peer_window = head[0];
    peer_flags = head[1];
    const ucp_ep_params_t parameters = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
                                        .address = (const ucp_address_t *)from,
                                        .err_mode = UCP_ERR_HANDLING_MODE_PEER};
    fine(ucp_ep_create(worker, &parameters, &endpoint), "ucp_ep_create");
    static const struct flag greeting = {.slice = hello};
    message(&greeting);
    while (!greeted || operations != 0)
        ucp_worker_progress(worker);
    fine(ucp_ep_rkey_unpack(endpoint, from + head[2], &key), "ucp_ep_rkey_unpack");
    fine(ucp_ep_rkey_unpack(endpoint, from + head[2] + head[3], &flags_key), "ucp_ep_rkey_unpack");
}

static void *register_ucx(void *first, size_t bytes) {
    return map(first, bytes);
}

static void deregister_ucx(void *registration) {
    fine(ucp_mem_unmap(context, registration), "ucp_mem_unmap");
}

static void give(const struct cell *cell, size_t ahead) {
    most_ahead = ahead;
    cells[given++ % MOST_SLICES] = *cell;
    advance();
}

static void send_ucx(uint32_t slice, const void *from, size_t bytes, size_t at,
                     void *registration) {
    give(&(struct cell){{.slice = slice}, from, bytes, at, registration}, MOST_SLICES);
}

static void send_two_ahead(uint32_t slice, const void *from, size_t bytes, size_t at,
                           void *registration) {
    give(&(struct cell){{.slice = slice}, from, bytes, at, registration}, AHEAD);
}

static void send_fenced(uint32_t slice, const void *from, size_t bytes, size_t at,
                        void *registration) {
    static struct flag flags[MOST_SLICES];
    flags[slice].slice = slice + 1;
    put(from, bytes, peer_window + at, key, registration);
    fine(ucp_worker_fence(worker), "ucp_worker_fence");
    put(&flags[slice], FLAG_BYTES, peer_flags + slice * sizeof(*flags), flags_key, NULL);
}

// The receiver looks for the next flag.
static void progress_fenced(void) {
    progress_ucx();
    volatile struct flag *const next = &own_flags[fenced];
    if (next->slice != fenced + 1)
        return;
    next->slice = 0;
    flag_came(fenced++);
}

static void begin_fenced(void) {
    fenced = 0;
}

static size_t outstanding_ucx(void) {
    return operations + (given - told);
}

const struct way ucx_way = {.name = "ucx",
                            .open = open_ucx,
                            .connect = connect_ucx,
                            .register_memory = register_ucx,
                            .deregister = deregister_ucx,
                            .send = send_ucx,
                            .progress = progress_ucx,
                            .outstanding = outstanding_ucx};
const struct way ucx_two_way = {.name = "ucx, two ahead",
                                .register_memory = register_ucx,
                                .deregister = deregister_ucx,
                                .send = send_two_ahead,
                                .progress = progress_ucx,
                                .outstanding = outstanding_ucx};
const struct way ucx_fence_way = {.name = "ucx, fence",
                                  .register_memory = register_ucx,
                                  .deregister = deregister_ucx,
                                  .begin = begin_fenced,
                                  .send = send_fenced,
                                  .progress = progress_fenced,
                                  .outstanding = outstanding_ucx};

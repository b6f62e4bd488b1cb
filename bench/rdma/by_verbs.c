// SPDX-License-Identifier: BSD-3-Clause
// By bare verbs: one connected queue, RDMA_WRITE of the payload, and RDMA_WRITE_WITH_IMM of the
// flag behind it, which the device delivers in that order.
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_bench.h"

enum {
    DEPTH = 2 * MOST_SLICES,
    RECEIVES = MOST_SLICES,
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
};

// What the peer has to know.
struct address {
    union ibv_gid gid;
    uint32_t queue, window_key, flags_key;
    uint64_t window, flags;
};

static struct ibv_context *context;
static struct ibv_pd *domain;
static struct ibv_cq *completions;
static struct ibv_qp *queue;
static struct address own, peer;
static struct flag flags[MOST_SLICES]; // that the peer writes
static size_t begun, complete;

static int gid_index(void) {
    const char *const text = getenv("UCX_IB_GID_INDEX"); // the same device, by the same address
    return text != NULL ? atoi(text) : 0;
}

static void allow_flag(void) {
    struct ibv_recv_wr receive = {0}, *bad = NULL;
    need(ibv_post_recv(queue, &receive, &bad) == 0, "ibv_post_recv");
}

static void change(struct ibv_qp_attr attributes, int set) {
    need(ibv_modify_qp(queue, &attributes, set) == 0, "ibv_modify_qp");
}

static void open_verbs(void *window, size_t bytes, void *address) {
    int devices = 0;
    struct ibv_device **const list = ibv_get_device_list(&devices);
    need(list != NULL && devices > 0, "a device");
    context = ibv_open_device(list[0]);
    need(context != NULL, "ibv_open_device");
    ibv_free_device_list(list);
    domain = ibv_alloc_pd(context);
    completions = ibv_create_cq(context, DEPTH + RECEIVES, NULL, NULL, 0);
    need(domain != NULL && completions != NULL, "ibv_alloc_pd and ibv_create_cq");
    struct ibv_qp_init_attr make = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = DEPTH,
                                            .max_recv_wr = RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = FLAG_BYTES}};
    queue = ibv_create_qp(domain, &make);
    need(queue != NULL, "ibv_create_qp");
    struct ibv_mr *const memory = ibv_reg_mr(domain, window, bytes, ACCESS);
    struct ibv_mr *const of_flags = ibv_reg_mr(domain, flags, sizeof(flags), ACCESS);
    need(memory != NULL && of_flags != NULL, "ibv_reg_mr");
    need(ibv_query_gid(context, 1, gid_index(), &own.gid) == 0, "ibv_query_gid");
    own.queue = queue->qp_num;
    own.window_key = memory->rkey;
    own.flags_key = of_flags->rkey;
    own.window = (uintptr_t)window;
    own.flags = (uintptr_t)flags;
    memcpy(address, &own, sizeof(own));
}

static void connect_verbs(const void *address) {
    memcpy(&peer, address, sizeof(peer));
    struct ibv_port_attr port;
    need(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
    change((struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS},
           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    for (int i = 0; i < RECEIVES; ++i)
        allow_flag();
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR,
                                  .path_mtu = port.active_mtu,
                                  .dest_qp_num = peer.queue,
                                  .max_dest_rd_atomic = 1,
                                  .min_rnr_timer = 12};
    receive.ah_attr.is_global = 1;
    receive.ah_attr.grh.dgid = peer.gid;
    receive.ah_attr.grh.sgid_index = (uint8_t)gid_index();
    receive.ah_attr.grh.hop_limit = 64;
    receive.ah_attr.port_num = 1;
    change(receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    change((struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .timeout = 18,
                                .retry_cnt = 6,
                                .rnr_retry = 6,
                                .max_rd_atomic = 1},
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC);
}

static void *register_verbs(void *first, size_t bytes) {
    struct ibv_mr *const memory = ibv_reg_mr(domain, first, bytes, ACCESS);
    need(memory != NULL, "ibv_reg_mr");
    return memory;
}

static void deregister_verbs(void *registration) {
    need(ibv_dereg_mr(registration) == 0, "ibv_dereg_mr");
}

static struct ibv_send_wr writing(struct ibv_sge *piece, const void *from, size_t bytes,
                                  uint64_t to, uint32_t key) {
    piece->addr = (uintptr_t)from;
    piece->length = (uint32_t)bytes;
    struct ibv_send_wr request = {.sg_list = piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    request.wr.rdma.remote_addr = to;
    request.wr.rdma.rkey = key;
    return request;
}

static void post(struct ibv_send_wr *first) {
    struct ibv_send_wr *bad = NULL;
    need(ibv_post_send(queue, first, &bad) == 0, "ibv_post_send");
    ++begun;
}

// Both in one call; the completion of the flag stands for the payload too.
static void send_verbs(uint32_t slice, const void *from, size_t bytes, size_t at,
                       void *registration) {
    struct flag flag = {.slice = slice};
    struct ibv_sge pieces[2] = {{.lkey = ((struct ibv_mr *)registration)->lkey}};
    struct ibv_send_wr payload =
        writing(&pieces[0], from, bytes, peer.window + at, peer.window_key);
    struct ibv_send_wr behind =
        writing(&pieces[1], &flag, sizeof(flag), peer.flags + slice * sizeof(flag), peer.flags_key);
    payload.next = &behind;
    behind.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    behind.imm_data = slice;
    behind.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    post(&payload);
}

static void progress_verbs(void) {
    struct ibv_wc done[16];
    const int found = ibv_poll_cq(completions, 16, done);
    for (int i = 0; i < found; ++i) {
        need(done[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(done[i].status));
        if (done[i].opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
            ++complete;
            continue;
        }
        need(flags[done[i].imm_data].slice == done[i].imm_data, "the flag's bytes");
        flag_came(done[i].imm_data);
        allow_flag();
    }
}

static size_t outstanding_verbs(void) {
    return begun - complete;
}

const struct way verbs_way = {.name = "verbs",
                              .open = open_verbs,
                              .connect = connect_verbs,
                              .register_memory = register_verbs,
                              .deregister = deregister_verbs,
                              .send = send_verbs,
                              .progress = progress_verbs,
                              .outstanding = outstanding_verbs};

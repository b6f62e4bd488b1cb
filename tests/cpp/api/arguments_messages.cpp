// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments (test_arguments.cpp) of messages, and of the collectives that are made of them.
#include "doctest.h"

#include <array>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "support/refused.hpp"

using test::beyond;
using test::kHuge;
using test::refused;
using test::Wrong;

TEST_CASE("messages") {
    test::with_ranks(3, [](stretto_comm comm) {
        struct With {
            stretto_comm comm;
            void *buffer;
            std::size_t count;
            stretto_dtype dtype;
            int peer, tag;
        };
        std::array<float, 4> data{1, 2, 3, 4};
        stretto_request request = nullptr;
        stretto_message message{-7, -7, 7};
        struct Kind {
            const char *name;
            bool receives, has_data;
            std::function<stretto_status(const With &)> call;
        };
        // What is refused gives no request.
        const auto none = [&](stretto_status status) {
            CHECK(request == nullptr);
            request = reinterpret_cast<stretto_request>(&request);
            return status;
        };
        int found = -7;
        const std::vector<Kind> kinds = {
            {"send", false, true,
             [](const With &w) {
                 return stretto_send(w.comm, w.buffer, w.count, w.dtype, w.peer, w.tag);
             }},
            {"isend", false, true,
             [&](const With &w) {
                 return none(
                     stretto_isend(w.comm, w.buffer, w.count, w.dtype, w.peer, w.tag, &request));
             }},
            {"recv", true, true,
             [&](const With &w) {
                 return stretto_recv(w.comm, w.buffer, w.count, w.dtype, w.peer, w.tag, &message);
             }},
            {"irecv", true, true,
             [&](const With &w) {
                 return none(stretto_irecv(w.comm, w.buffer, w.count, w.dtype, w.peer, w.tag,
                                           &message, &request));
             }},
            {"probe", true, false,
             [&](const With &w) { return stretto_probe(w.comm, w.peer, w.tag, &message); }},
            {"iprobe", true, false, [&](const With &w) {
                 return stretto_iprobe(w.comm, w.peer, w.tag, &found, &message);
             }}};
        const With good{comm, data.data(), 4, STRETTO_FLOAT32, 1, 1};
        std::vector<Wrong> cases;
        for (const Kind &kind : kinds) {
            const auto add = [&](const char *what, auto &&change, const char *words) {
                With with = good;
                change(with);
                cases.push_back({std::string(kind.name) + ": " + what,
                                 [with, call = kind.call] { return call(with); }, words});
            };
            add("no communicator", [](With &w) { w.comm = nullptr; }, "communicator");
            for (const int peer : {3, INT_MAX, INT_MIN, kind.receives ? -2 : -1})
                add("peer", [=](With &w) { w.peer = peer; }, "a rank of the communicator");
            for (const int tag : {INT_MIN, kind.receives ? -2 : -1})
                add("tag", [=](With &w) { w.tag = tag; }, "0 ... INT_MAX");
            if (!kind.has_data)
                continue;
            add("no buffer", [](With &w) { w.buffer = nullptr; }, "buffer is NULL");
            for (const int dtype : {-1, 15, INT_MAX, INT_MIN})
                add("dtype", [=](With &w) { w.dtype = beyond<stretto_dtype>(dtype); }, "dtype");
            for (const std::size_t count : {kHuge[0], kHuge[1], kHuge[2]})
                add("count", [=](With &w) { w.count = count; }, "count is too large");
        }
        constexpr auto f32 = STRETTO_FLOAT32;
        cases.push_back({"isend: no request",
                         [&] { return stretto_isend(comm, &data, 1, f32, 0, 1, nullptr); },
                         "request is NULL"});
        cases.push_back(
            {"irecv: no request",
             [&] { return stretto_irecv(comm, &data, 1, f32, 0, 1, &message, nullptr); },
             "request is NULL"});
        cases.push_back({"iprobe: no answer",
                         [&] { return stretto_iprobe(comm, 0, 1, nullptr, &message); },
                         "the result is NULL"});
        request = reinterpret_cast<stretto_request>(&request);
        refused(comm, cases);
        CHECK((message.source == -7 && message.tag == -7 && message.bytes == 7));
        CHECK(found == -7);
        CHECK(data == std::array<float, 4>{1, 2, 3, 4});
        // Nothing was sent: there is no message for anybody.
        test::check(stretto_iprobe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &found, nullptr));
        CHECK(found == 0);
    });
}

TEST_CASE("collectives whose counts only each pair of ranks knows") {
    using Sizes = std::array<std::size_t, 3>;
    constexpr std::size_t kFar = SIZE_MAX / 16;
    // What each rank has for the others, and what it has at the root of a gather or scatter.
    struct With {
        stretto_comm comm;
        const void *send;
        void *recv;
        const std::size_t *counts, *displacements;
        std::size_t own; // the count of the one who is no root
        stretto_dtype dtype;
        int root;
        stretto_request *request;
    };
    struct Kind {
        const char *name;
        bool rooted, nonblocking;
        stretto_status (*call)(const With &);
    };
    static const std::vector<Kind> kinds = {
        {"gatherv", true, false,
         [](const With &w) {
             return stretto_gatherv(w.comm, w.send, w.own, w.recv, w.counts, w.displacements,
                                    w.dtype, w.root);
         }},
        {"scatterv", true, false,
         [](const With &w) {
             return stretto_scatterv(w.comm, w.send, w.counts, w.displacements, w.recv, w.own,
                                     w.dtype, w.root);
         }},
        {"alltoallv", false, false,
         [](const With &w) {
             return stretto_alltoallv(w.comm, w.send, w.counts, w.displacements, w.recv, w.counts,
                                      w.displacements, w.dtype);
         }},
        {"igatherv", true, true,
         [](const With &w) {
             return stretto_igatherv(w.comm, w.send, w.own, w.recv, w.counts, w.displacements,
                                     w.dtype, w.root, w.request);
         }},
        {"iscatterv", true, true,
         [](const With &w) {
             return stretto_iscatterv(w.comm, w.send, w.counts, w.displacements, w.recv, w.own,
                                      w.dtype, w.root, w.request);
         }},
        {"ialltoallv", false, true, [](const With &w) {
             return stretto_ialltoallv(w.comm, w.send, w.counts, w.displacements, w.recv, w.counts,
                                       w.displacements, w.dtype, w.request);
         }}};
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<float> send(9, 1), recv(9, 2);
        const Sizes good{2, 2, 2}, places{0, 3, 6}, huge{2, SIZE_MAX, 2}, large{kFar, 2, 2},
            far{0, kFar, 6}, farthest{0, 3, SIZE_MAX};
        stretto_request request = nullptr;
        std::vector<Wrong> cases;
        for (const Kind &kind : kinds) {
            const std::string name = kind.name;
            const bool gathers = test::contains(name, "gather"),
                       scatters = test::contains(name, "scatter");
            // Each rank believes that it is the root.
            const With usual{comm,         send.data(),     recv.data(), good.data(), places.data(),
                             good.front(), STRETTO_FLOAT32, rank,        &request};
            const auto add = [&](const std::string &what, auto &&change, const char *words) {
                With with = usual;
                change(with);
                cases.push_back({name + ": " + what,
                                 [=, &request, call = kind.call] {
                                     request = reinterpret_cast<stretto_request>(&request);
                                     const stretto_status status = call(with);
                                     if (kind.nonblocking && with.request != nullptr)
                                         CHECK(request == nullptr);
                                     return status;
                                 },
                                 words});
            };
            add("no communicator", [](With &w) { w.comm = nullptr; }, "communicator is NULL");
            add("no counts", [](With &w) { w.counts = nullptr; }, "counts are NULL");
            add("counts", [&](With &w) { w.counts = huge.data(); }, "too large");
            // One after the other they have no end.
            add(
                "sum of counts",
                [&](With &w) {
                    w.counts = large.data();
                    w.displacements = nullptr;
                },
                "too large");
            for (const Sizes *displacements : {&far, &farthest})
                add(
                    "displacements", [=](With &w) { w.displacements = displacements->data(); },
                    "too large");
            for (const int dtype : {-1, 15, INT_MIN})
                add("dtype", [=](With &w) { w.dtype = beyond<stretto_dtype>(dtype); }, "dtype");
            add("no output", [](With &w) { w.recv = nullptr; }, "buffer is NULL");
            add("no input", [](With &w) { w.send = nullptr; }, "buffer is NULL");
            if (kind.nonblocking)
                add("no request", [](With &w) { w.request = nullptr; }, "request is NULL");
            if (!kind.rooted)
                continue;
            for (const int root : {-1, 3, INT_MAX, INT_MIN})
                add("root", [=](With &w) { w.root = root; }, "root");
            add("own count", [](With &w) { w.own = SIZE_MAX; }, "count is too large");
            add("own part", [](With &w) { w.own = 1; }, "differ in count");
            if (gathers)
                add(
                    "in place elsewhere",
                    [&](With &w) {
                        w.root = (rank + 1) % 3;
                        w.send = STRETTO_IN_PLACE;
                    },
                    "for the root only");
            if (scatters) {
                add(
                    "in place elsewhere",
                    [&](With &w) {
                        w.root = (rank + 1) % 3;
                        w.recv = const_cast<void *>(STRETTO_IN_PLACE);
                    },
                    "for the root of a scatter only");
                add(
                    "in place of the wrong buffer", [](With &w) { w.send = STRETTO_IN_PLACE; },
                    "stands for recv");
            }
        }
        const Sizes fewer{1, 1, 1};
        cases.push_back({"alltoallv: own part",
                         [&] {
                             return stretto_alltoallv(comm, send.data(), good.data(), nullptr,
                                                      recv.data(), fewer.data(), nullptr,
                                                      STRETTO_FLOAT32);
                         },
                         "differ in count"});
        refused(comm, cases);
    });
}

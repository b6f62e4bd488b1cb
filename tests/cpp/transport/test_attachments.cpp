// SPDX-License-Identifier: BSD-3-Clause
// What a rank has attached of the memory of others, with functions in the library's place that
// write down what they are asked for.
#include "doctest.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "transport/shm/attachments.hpp"

using stretto::transport::Attachments;
using stretto::transport::Xpmem;

namespace {

constexpr std::uint64_t kGranule = 1 << 20;
constexpr std::uint64_t kHighest = std::uint64_t{1} << 40; // of addresses

std::string seen;
bool refuse_attach = false, refuse_get = false;

std::string hex(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%lx", static_cast<unsigned long>(number));
    return text;
}

// Attached memory is at the owner's address and this: nothing reads it.
constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 44;

const Xpmem &functions() {
    static const Xpmem all = [] {
        Xpmem each;
        each.get = [](std::int64_t segment, int, int, void *) {
            if (refuse_get) {
                errno = EACCES;
                return std::int64_t{-1};
            }
            seen += "get " + std::to_string(segment) + "; ";
            return 100 + segment;
        };
        each.release = [](std::int64_t permit) {
            seen += "release " + std::to_string(permit) + "; ";
            return 0;
        };
        each.attach = [](Xpmem::Address from, std::size_t bytes, void *) {
            const auto first = static_cast<std::uint64_t>(from.offset);
            if (refuse_attach || first + bytes > kHighest) {
                errno = ENOENT;
                return reinterpret_cast<void *>(std::intptr_t{-1});
            }
            seen += "attach " + std::to_string(from.permit) + " " + hex(first) + "+" + hex(bytes) +
                    "; ";
            return reinterpret_cast<void *>(first + kElsewhere);
        };
        each.detach = [](void *at) {
            seen += "detach " + hex(reinterpret_cast<std::uint64_t>(at) - kElsewhere) + "; ";
            return 0;
        };
        return each;
    }();
    return all;
}

std::string taken() {
    std::string now;
    now.swap(seen);
    return now;
}

std::uint64_t address(const std::byte *at) {
    return reinterpret_cast<std::uint64_t>(at) - kElsewhere;
}

} // namespace

TEST_CASE("attachments that are kept begin and end at granules, and serve what is in them") {
    seen.clear();
    {
        Attachments attachments(functions(), 2, true, {kGranule, 16 * kGranule});
        CHECK(address(attachments.find(1, 7, 0x123457, 100)) == 0x123457);
        CHECK(taken() == "get 7; attach 107 100000+100000; ");
        attachments.end_step();
        CHECK(address(attachments.find(1, 7, 0x100000, kGranule)) == 0x100000);
        CHECK(address(attachments.find(1, 7, 0x1fffff, 1)) == 0x1fffff);
        CHECK(taken() == "");
        // A byte more, and a byte before.
        CHECK(address(attachments.find(1, 7, 0x1fffff, 2)) == 0x1fffff);
        CHECK(taken() == "attach 107 100000+200000; ");
        CHECK(address(attachments.find(1, 7, 0xfffff, 2)) == 0xfffff);
        CHECK(taken() == "attach 107 0+200000; ");
        // Another rank's memory at the same address.
        CHECK(address(attachments.find(0, 8, 0x123457, 100)) == 0x123457);
        CHECK(taken() == "get 8; attach 108 100000+100000; ");
        CHECK(attachments.bytes_of(1) == 5 * kGranule);
        CHECK(attachments.bytes_of(0) == kGranule);
    }
    CHECK(taken() == "detach 100000; release 108; detach 0; detach 100000; detach 100000; "
                     "release 107; ");
}

TEST_CASE("there is a bound for each owner, and the least recently used goes first") {
    seen.clear();
    Attachments attachments(functions(), 2, true, {kGranule, 3 * kGranule});
    const auto use = [&](std::uint64_t granule) {
        REQUIRE(attachments.find(0, 7, granule * kGranule, 5) != nullptr);
        attachments.end_step();
    };
    use(1);
    use(2);
    use(3);
    use(1);
    (void)taken();
    use(4);
    CHECK(taken() == "detach 200000; attach 107 400000+100000; ");
    use(2);
    CHECK(taken() == "detach 300000; attach 107 200000+100000; ");
    CHECK(attachments.find(1, 8, kGranule, 5) != nullptr); // no owner's room is another's
    CHECK(taken() == "get 8; attach 108 100000+100000; ");
    CHECK(attachments.bytes_of(0) == 3 * kGranule);
    // More than there is room for: all others go.
    CHECK(attachments.find(0, 7, 8 * kGranule, 4 * kGranule) != nullptr);
    CHECK(taken() == "detach 100000; detach 400000; detach 200000; attach 107 800000+400000; ");
    attachments.end_step();
    use(1);
    CHECK(taken() == "detach 800000; attach 107 100000+100000; ");
    CHECK(attachments.bytes_of(0) == kGranule);
}

TEST_CASE("what a step uses stays until its end") {
    seen.clear();
    Attachments attachments(functions(), 1, true, {kGranule, 2 * kGranule});
    for (const std::uint64_t granule : {1u, 2u, 3u, 4u})
        CHECK(attachments.find(0, 7, granule * kGranule, 5) != nullptr);
    CHECK(attachments.bytes_of(0) == 4 * kGranule);
    attachments.end_step();
    (void)taken();
    CHECK(attachments.find(0, 7, 2 * kGranule, 5) != nullptr);
    CHECK(attachments.find(0, 7, 5 * kGranule, 5) != nullptr);
    CHECK(attachments.bytes_of(0) == 2 * kGranule);
    CHECK(taken() == "detach 100000; detach 400000; detach 300000; attach 107 500000+100000; ");
}

TEST_CASE("attachments that are not kept are of pages, and end with the step") {
    seen.clear();
    {
        Attachments attachments(functions(), 2, false, {kGranule, 2 * kGranule});
        CHECK(address(attachments.find(0, 7, 0x10000ff, 0x100000)) == 0x10000ff);
        CHECK(address(attachments.find(0, 7, 0x1000100, 1)) == 0x1000100);
        const std::string all = taken();
        CHECK(all.starts_with("get 7; attach 107 1000000+10"));
        CHECK(all.find("attach", all.find("attach") + 1) == std::string::npos);
        attachments.end_step();
        CHECK(taken() == "detach 1000000; ");
        attachments.end_step();
        CHECK(address(attachments.find(0, 7, 0x10000ff, 0x100000)) == 0x10000ff);
        CHECK(taken().starts_with("attach 107 1000000+"));
        attachments.end_step();
        CHECK(attachments.bytes_of(0) == 0);
        CHECK(taken() == "detach 1000000; ");
    }
    CHECK(taken() == "release 107; ");
}

TEST_CASE("where a granule is too much, pages are attached") {
    seen.clear();
    Attachments attachments(functions(), 1, true, {kHighest, kHighest});
    CHECK(address(attachments.find(0, 7, kHighest - 0x1000f, 5)) == kHighest - 0x1000f);
    const std::string first = taken();
    CHECK(first == "get 7; attach 107 0+" + hex(kHighest) + "; ");
    Attachments others(functions(), 1, true, {3 * kGranule, kHighest});
    CHECK(address(others.find(0, 7, kHighest - 5, 5)) == kHighest - 5);
    CHECK(taken().starts_with("get 7; attach 107 fffff"));
}

TEST_CASE("what the kernel refuses is nothing, and may be asked for again") {
    seen.clear();
    Attachments attachments(functions(), 1, true, {kGranule, 2 * kGranule});
    refuse_get = true;
    CHECK(attachments.find(0, 7, 5, 5) == nullptr);
    CHECK(errno == EACCES);
    refuse_get = false;
    refuse_attach = true;
    CHECK(attachments.find(0, 7, 5, 5) == nullptr);
    CHECK(errno == ENOENT);
    CHECK(attachments.bytes_of(0) == 0);
    refuse_attach = false;
    CHECK(attachments.find(0, 7, 5, 5) != nullptr);
    CHECK(taken() == "get 7; attach 107 0+100000; ");
}

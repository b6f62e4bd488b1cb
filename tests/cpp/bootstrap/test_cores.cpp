// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/caches.hpp"
#include "bootstrap/cores.hpp"
#include "support/folder.hpp"

using namespace stretto;
using namespace stretto::bootstrap;
using stretto::Caches;

namespace {

// A kernel whose masks have 4096 processors, of which a process may use 3, 1500 and 4000.
int large(pid_t, std::size_t bytes, cpu_set_t *mask) {
    if (bytes < 4096 / CHAR_BIT) {
        errno = EINVAL;
        return -1;
    }
    for (const std::size_t processor : {3u, 1500u, 4000u})
        CPU_SET_S(processor, bytes, mask);
    return 0;
}

int forbidden(pid_t, std::size_t, cpu_set_t *) {
    errno = EPERM;
    return -1;
}

// However long the mask is.
int never(pid_t, std::size_t, cpu_set_t *) {
    errno = EINVAL;
    return -1;
}

} // namespace

TEST_CASE("a mask of more than 1024 processors is read") {
    const CoreSet three = affinity(large);
    CHECK(three.count() == 3);
    CHECK(cores_worth(three) == std::min(3u, quota()));
}

TEST_CASE("processors of several ranks are counted once") {
    CoreSet all = affinity(large), other;
    other.add(4000);
    other.add(8191);
    other.add(CoreSet::kMostProcessors); // Linux has none
    all.add(other);
    CHECK(all.count() == 4);
}

TEST_CASE("the cache of each rank is that of the processors which it may use") {
    const test::Folder folder;
    for (int processor = 0; processor < 8; ++processor) {
        const std::string cache =
            folder.path() + "/cpu" + std::to_string(processor) + "/cache/index0";
        std::filesystem::create_directories(cache);
        std::ofstream(cache + "/level") << 3;
        std::ofstream(cache + "/shared_cpu_list") << (processor < 4 ? "0-3" : "4-7");
    }
    const auto bound = [](std::vector<std::size_t> processors) {
        CoreSet set;
        for (const std::size_t each : processors)
            set.add(each);
        CHECK(set.processors() == processors);
        return set;
    };
    const Caches caches = Caches::read({0, 1, 2, 3, 4, 5, 6, 7}, folder.path());
    using Numbers = std::vector<std::int32_t>;
    CHECK(caches_of(std::vector{bound({1}), bound({4, 6}), bound({0, 3})}, caches) ==
          Numbers{0, 4, 0});
    CHECK(caches_of(std::vector{bound({1}), bound({3, 4})}, caches) == Numbers{}); // of two
    CHECK(caches_of(std::vector{bound({1}), bound({})}, caches) == Numbers{});     // not told
    CHECK(caches_of(std::vector{bound({1}), bound({64})}, caches) == Numbers{});
}

TEST_CASE("an affinity that is not told is not one core") {
    CHECK(affinity(forbidden).count() == 0);
    CHECK(affinity(never).count() == 0);
    CHECK(online() >= 1);
    CHECK(cores_worth(affinity(forbidden)) == std::min(online(), quota()));
    CHECK(affinity().count() >= 1);
}

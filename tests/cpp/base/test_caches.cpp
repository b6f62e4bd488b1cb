// SPDX-License-Identifier: BSD-3-Clause
// Last-level caches, on trees as the kernel of several machines shows them.
#include "doctest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/caches.hpp"
#include "support/folder.hpp"

using stretto::Caches;
using stretto::processors_in;
using Processors = std::vector<std::size_t>;

namespace {

// A tree of files.
class Tree {
public:
    void write(const std::string &name, const std::string &text) {
        const std::filesystem::path path = root() + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }
    // A cache of a processor.
    void cache(std::size_t processor, int index, int level, const std::string &type,
               const std::string &shared) {
        const std::string name =
            "cpu" + std::to_string(processor) + "/cache/index" + std::to_string(index) + "/";
        write(name + "level", std::to_string(level));
        write(name + "type", type);
        write(name + "shared_cpu_list", shared);
    }
    std::string root() const { return folder_.path() + "/cpu"; }

private:
    test::Folder folder_;
};

} // namespace

TEST_CASE("lists of processors") {
    CHECK(processors_in("0-3,8\n") == Processors{0, 1, 2, 3, 8});
    CHECK(processors_in("5") == Processors{5});
    CHECK(processors_in("0,2,4-5") == Processors{0, 2, 4, 5});
    CHECK(processors_in("") == Processors{});
    CHECK(processors_in("many") == Processors{});
    CHECK(processors_in("1,x") == Processors{1});
    CHECK(processors_in("3-1") == Processors{});
    CHECK(processors_in("0-99999999") == Processors{});
    CHECK(processors_in("0-18446744073709551615") == Processors{});
    CHECK(processors_in("-1") == Processors{});
}

TEST_CASE("two sockets of two clusters, with threads") {
    // 16 processors: cores 0 ... 7, their threads 8 ... 15; four cores share a cache.
    Tree tree;
    for (std::size_t each = 0; each < 16; ++each) {
        const std::size_t core = each % 8, cluster = core / 4 * 4;
        const auto pair = std::to_string(core) + "," + std::to_string(core + 8);
        tree.cache(each, 0, 1, "Data", pair);
        tree.cache(each, 1, 1, "Instruction", pair);
        tree.cache(each, 2, 2, "Unified", pair);
        tree.cache(each, 3, 3, "Unified",
                   std::to_string(cluster) + "-" + std::to_string(cluster + 3) + "," +
                       std::to_string(cluster + 8) + "-" + std::to_string(cluster + 11));
        tree.write("cpu" + std::to_string(each) + "/topology/physical_package_id", "0");
    }
    const Caches caches = Caches::read(processors_in("0-15"), tree.root());
    for (std::size_t each = 0; each < 16; ++each)
        CHECK(caches.of(each) == (each % 8 < 4 ? 0 : 4));
    CHECK(caches.of(16) == std::nullopt);
    CHECK(caches.shared_by({1, 3, 10}) == 0);
    CHECK(caches.shared_by({4, 13}) == 4);
    CHECK(caches.shared_by({3, 4}) == std::nullopt);
    CHECK(caches.shared_by({}) == std::nullopt);
    // One processor of a cache tells of the others.
    CHECK(Caches::read({5}, tree.root()).shared_by({4, 15}) == 4);
}

TEST_CASE("without caches, sockets stand for them; without either nothing is known") {
    Tree tree;
    for (std::size_t each = 0; each < 4; ++each)
        tree.write("cpu" + std::to_string(each) + "/topology/physical_package_id",
                   each % 2 == 0 ? "7" : "9");
    const Caches by_socket = Caches::read({0, 1, 2, 3}, tree.root());
    CHECK(by_socket.shared_by({0, 2}) == 0);
    CHECK(by_socket.shared_by({1, 3}) == 1);
    CHECK(by_socket.shared_by({0, 1}) == std::nullopt);
    CHECK(Caches::read({0, 5}, tree.root()).of(5) == std::nullopt);
    CHECK(Caches::read({0}, tree.root() + "/nowhere").of(0) == std::nullopt);
    // A virtual machine whose processors have caches of their own only.
    Tree alone;
    alone.cache(0, 0, 1, "Data", "0");
    alone.cache(1, 0, 1, "Data", "1");
    alone.cache(1, 1, 2, "Unified", "no list");
    CHECK(Caches::read({0, 1}, alone.root()).of(0) == 0);
    CHECK(Caches::read({0, 1}, alone.root()).of(1) == 1);
}

TEST_CASE("this machine's tree can be read") {
    const Caches caches = Caches::read({0});
    if (const auto cache = caches.of(0))
        CHECK(caches.shared_by({0}) == cache);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "base/caches.hpp"

#include <algorithm>
#include <map>

#include "base/kernel_files.hpp"

namespace stretto {

namespace {

constexpr std::size_t kMostProcessors = 8192;
constexpr int kMostCaches = 16; // caches of a processor

std::optional<int> number_of(const std::string &path) {
    const std::string text = contents(path);
    std::string_view rest = text;
    return next_number<int>(rest);
}

// The processors that share the last-level cache of a processor; none if the kernel names no cache.
std::vector<std::size_t> sharers(const std::string &processor) {
    int highest = 0;
    std::vector<std::size_t> found;
    for (int index = 0; index < kMostCaches; ++index) {
        const std::string cache = processor + "/cache/index" + std::to_string(index);
        const auto level = number_of(cache + "/level");
        if (!level)
            break;
        if (*level <= highest || contents(cache + "/type").starts_with("Instruction"))
            continue;
        std::vector<std::size_t> shared = processors_in(contents(cache + "/shared_cpu_list"));
        if (shared.empty())
            continue;
        highest = *level;
        found = std::move(shared);
    }
    return found;
}

} // namespace

std::vector<std::size_t> processors_in(std::string_view list) {
    std::vector<std::size_t> found;
    while (true) {
        const auto first = next_number<std::size_t>(list);
        if (!first)
            return found;
        std::optional<std::size_t> last = first;
        if (list.starts_with('-')) {
            list.remove_prefix(1);
            last = next_number<std::size_t>(list);
        }
        if (!last || *last >= kMostProcessors || *last < *first)
            return found;
        for (std::size_t each = *first; each <= *last; ++each)
            found.push_back(each);
        if (!list.starts_with(','))
            return found;
        list.remove_prefix(1);
    }
}

Caches Caches::read(const std::vector<std::size_t> &processors, const std::string &root) {
    Caches read;
    std::map<int, std::int32_t> first_of_package;
    const auto note = [&](std::size_t processor, std::int32_t cache) {
        read.cache_of_.resize(std::max(read.cache_of_.size(), processor + 1), -1);
        read.cache_of_[processor] = cache;
    };
    for (const std::size_t each : processors) {
        if (read.of(each))
            continue; // known by a processor that shares its cache
        const std::string processor = root + "/cpu" + std::to_string(each);
        const std::vector<std::size_t> shared = sharers(processor);
        for (const std::size_t sharer : shared)
            note(sharer, static_cast<std::int32_t>(std::ranges::min(shared)));
        if (!shared.empty())
            continue;
        if (const auto package = number_of(processor + "/topology/physical_package_id"))
            note(each,
                 first_of_package.emplace(*package, static_cast<std::int32_t>(each)).first->second);
    }
    return read;
}

std::optional<std::int32_t> Caches::of(std::size_t processor) const {
    if (processor >= cache_of_.size() || cache_of_[processor] < 0)
        return std::nullopt;
    return cache_of_[processor];
}

std::optional<std::int32_t> Caches::shared_by(const std::vector<std::size_t> &processors) const {
    std::optional<std::int32_t> common;
    for (const std::size_t each : processors) {
        const auto cache = of(each);
        if (!cache || (common && *common != *cache))
            return std::nullopt;
        common = cache;
    }
    return common;
}

} // namespace stretto

// SPDX-License-Identifier: BSD-3-Clause
#include "cost/symmetry_classes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stretto::cost {

using schedule::Position;
using schedule::Symmetry;

namespace {

constexpr std::uint32_t kNoHost = ~std::uint32_t{0};
// With more representatives than this, pricing takes too long: then one represents all positions.
constexpr std::size_t kMostHostPositions = 16;

std::size_t at(Position position) {
    return static_cast<std::size_t>(position);
}

// A subgroup of elements that take hosts to hosts, found by adding one element after the other.
class Translations {
public:
    // `apart`: no element but 0 may take a host to itself.
    Translations(const Symmetry &group, const std::vector<std::uint32_t> &host_of, bool apart)
        : group_(group), host_of_(host_of), apart_(apart), tried_(host_of.size(), false) {
        first_.resize(*std::max_element(host_of.begin(), host_of.end()) + 1);
        for (Position p = group.size(); p-- > 0;)
            first_[host_of[at(p)]] = p;
        add(0);
        for (Position g = 1; g < group.size(); ++g)
            if (!tried_[at(g)])
                extend(g);
    }

    const std::vector<Position> &elements() const { return elements_; }
    std::size_t hosts() const { return first_.size(); }

private:
    // This element need not be tried again.  With `apart`, nor do sums of this one and an element
    // that leaves position 0 on its host: they would bring that element along.
    void add(Position element) {
        elements_.push_back(element);
        tried_[at(element)] = true;
        for (Position p = 0; apart_ && p < group_.size(); ++p)
            if (host_of_[at(p)] == host_of_[0])
                tried_[at(group_.sum(p, element))] = true;
    }

    bool preserves(Position by) const {
        std::vector<std::uint32_t> image(first_.size(), kNoHost);
        for (Position p = 0; p < group_.size(); ++p) {
            std::uint32_t &host = image[host_of_[at(p)]];
            const std::uint32_t there = host_of_[at(group_.sum(p, by))];
            if (host == kNoHost)
                host = there;
            if (host != there || (apart_ && there == host_of_[at(p)]))
                return false;
        }
        return true;
    }

    // The fastest tests come first.  With `apart` there cannot be more elements than hosts; then,
    // whether hosts are taken to hosts.
    void extend(Position by) {
        if (!apart_ && !preserves(by))
            return;
        std::vector<Position> all = elements_;
        const auto there = [&](Position g) {
            return std::find(elements_.begin(), elements_.end(), g) != elements_.end();
        };
        for (Position multiple = by; !there(multiple); multiple = group_.sum(multiple, by)) {
            for (const Position each : elements_)
                all.push_back(group_.sum(each, multiple));
            if (apart_ && all.size() > first_.size())
                return; // two of them take the first host to the same one
        }
        if (apart_ && (!preserves(by) || !move_all_hosts(all)))
            return;
        for (std::size_t i = elements_.size(); i < all.size(); ++i)
            add(all[i]);
    }

    // Except 0, since no two elements take a host to the same one.
    bool move_all_hosts(const std::vector<Position> &subgroup) const {
        std::vector<bool> reached(first_.size(), false);
        for (std::size_t host = 0; host < first_.size(); ++host) {
            if (reached[host])
                continue;
            for (const Position each : subgroup) {
                const std::uint32_t there = host_of_[at(group_.sum(first_[host], each))];
                if (reached[there])
                    return false;
                reached[there] = true;
            }
        }
        return true;
    }

    const Symmetry &group_;
    const std::vector<std::uint32_t> &host_of_;
    const bool apart_;
    std::vector<bool> tried_;
    std::vector<Position> elements_;
    std::vector<Position> first_; // position of each host
};

} // namespace

SymmetryClasses SymmetryClasses::none(Position ranks) {
    SymmetryClasses classes(Symmetry::cyclic(ranks));
    classes.representatives_.resize(at(ranks));
    std::iota(classes.representatives_.begin(), classes.representatives_.end(), 0);
    classes.number_.assign(classes.representatives_.begin(), classes.representatives_.end());
    return classes;
}

SymmetryClasses SymmetryClasses::one(Symmetry group) {
    SymmetryClasses classes(std::move(group));
    classes.representatives_ = {0};
    classes.number_.assign(at(classes.group_.size()), 0);
    return classes;
}

SymmetryClasses SymmetryClasses::of_hosts(Symmetry group,
                                          const std::vector<std::uint32_t> &host_of) {
    SymmetryClasses classes(std::move(group));
    const Translations apart(classes.group_, host_of, true);
    const bool few = apart.elements().size() > 1 &&
                     apart.elements().size() * kMostHostPositions >= host_of.size();
    const std::vector<Position> by =
        few ? apart.elements() : Translations(classes.group_, host_of, false).elements();
    // The positions of a host represent the positions of the hosts that it is taken to.
    std::vector<bool> stood_for(apart.hosts(), false);
    classes.number_.assign(host_of.size(), kNoHost);
    for (std::uint32_t host = 0; host < stood_for.size(); ++host) {
        if (stood_for[host])
            continue;
        for (Position p = 0; p < classes.group_.size(); ++p) {
            if (host_of[at(p)] != host || classes.number_[at(p)] != kNoHost)
                continue;
            int together = 0;
            for (const Position each : by) {
                const Position image = classes.group_.sum(p, each);
                classes.number_[at(image)] =
                    static_cast<std::uint32_t>(classes.representatives_.size());
                stood_for[host_of[at(image)]] = true;
                together += host_of[at(image)] == host ? 1 : 0;
            }
            classes.together_ = std::max(classes.together_, together);
            classes.representatives_.push_back(p);
        }
    }
    return classes;
}

} // namespace stretto::cost

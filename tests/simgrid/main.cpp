// SPDX-License-Identifier: BSD-3-Clause
// The simulator against SimGrid.
//
//   stretto_simgrid            a test of less than a minute
//   stretto_simgrid --report   the same up to P = 48, and what links that are shared change
//
// SimGrid (Casanova et al., "Versatile, scalable, and accurate simulation of distributed
// applications and platforms", 2014) has a network, processors and actors.  What is ours is said to
// it in three files: platform.cpp, its network; turns.cpp, ports that are single; play.cpp, what a
// program is to an actor in each mode.
#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "fluid.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;
using schedule::Position;
using simulate::Mode;

constexpr std::array<std::pair<Mode, const char *>, 4> kModes = {{{Mode::posted, "posted"},
                                                                  {Mode::arrived, "arrived"},
                                                                  {Mode::eager, "eager"},
                                                                  {Mode::ordered, "ordered"}}};

bool report(const std::vector<std::string> &wrong, const char *what) {
    for (const std::string &each : wrong)
        std::printf("%s: %s\n", what, each.c_str());
    return wrong.empty();
}

std::vector<const algorithms::Algorithm *> allreduces() {
    std::vector<const algorithms::Algorithm *> found;
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.collective == schedule::Collective::allreduce)
            found.push_back(&each);
    return found;
}

bool print_agreement(std::span<const Position> ranks) {
    bool fine = true;
    std::printf("| algorithm | mode | cases | worst difference | with ties of a processor | of "
                "these differ |\n|:--|:--|--:|--:|--:|--:|\n");
    for (const algorithms::Algorithm *algorithm : allreduces()) {
        const std::vector<Case> cases = cases_of(*algorithm, ranks);
        for (const auto &[mode, name] : kModes) {
            const Agreement found = compare(cases, mode);
            fine &= report(found.wrong, ("DIFFERS, mode " + std::string(name)).c_str());
            std::printf("| %s | %s | %d | %.0e | %d | %d |\n", algorithm->name.data(), name,
                        found.cases, found.worst, found.tied, found.tied_differ);
            std::fflush(stdout);
        }
    }
    return fine;
}

// A walk has one receive open, so messages on one connection never meet there.
constexpr struct {
    Mode mode;
    Links links;
    const char *name;
} kFluid[] = {{Mode::posted, Links::shared, "posted"},
              {Mode::ordered, Links::connected, "ordered, connections share"},
              {Mode::ordered, Links::shared, "ordered, messages share"}};

// Of what links take the most of: many bytes, reduced sooner than they come.
bool print_movement(std::span<const Position> ranks) {
    bool fine = true;
    std::printf("\nLinks that are shared, over ports: least, mean, most of the last finish after "
                "the last arrival / of the mean time inside\n\n| algorithm |");
    for (const auto &each : kFluid)
        std::printf(" %s |", each.name);
    std::printf("\n|:--|--:|--:|--:|\n");
    for (const algorithms::Algorithm *algorithm : allreduces()) {
        std::vector<Case> cases = cases_of(*algorithm, ranks);
        std::erase_if(cases, [](const Case &each) {
            const simulate::Network &network = each.problem.network;
            return each.problem.count < 1000 || network.gamma > network.beta;
        });
        if (cases.empty())
            continue;
        std::printf("| %s |", algorithm->name.data());
        std::vector<std::string> wrong;
        for (const auto &[mode, links, name] : kFluid) {
            const Movement found = move(cases, mode, links);
            std::printf(" %.2f %.2f %.2f / %.2f %.2f %.2f |", found.last.least, found.last.mean(),
                        found.last.most, found.mean.least, found.mean.mean(), found.mean.most);
            wrong.insert(wrong.end(), found.wrong.begin(), found.wrong.end());
        }
        std::printf("\n");
        fine &= report(wrong, "TOO SOON");
        std::fflush(stdout);
    }
    return fine;
}

} // namespace

int main(int argc, char **argv) {
    try {
        const bool all = argc == 2 && std::string_view(argv[1]) == "--report";
        if (argc != 1 && !all) {
            std::fprintf(stderr, "usage: %s [--report]\n", argv[0]);
            return 2;
        }
        const std::vector<Position> compared =
            all ? std::vector<Position>{2, 3, 5, 7, 8, 13, 16, 48}
                : std::vector<Position>{2, 3, 5, 8, 13};
        const std::vector<Position> moved =
            all ? std::vector<Position>{8, 16, 48} : std::vector<Position>{5};
        bool fine = sees_what_is_wrong();
        if (!fine)
            std::printf("A byte that takes longer in SimGrid alone is not seen.\n");
        fine &= print_agreement(compared);
        fine &= print_movement(moved);
        return fine ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// Halo exchanges: a rank of a block of ranks gets messages of the ranks around it.
#include <algorithm>
#include <cmath>

#include "matching/patterns.hpp"

namespace stretto::matching {

using p2p::Envelope;

// For 11 peers the block is 2 x 2 x 3 ranks, numbered by x, then y, then z.  Its middle is (1,1,1),
// which is rank 1 + 2 (1 + 2 * 1) = 7; all others are its neighbours.  Ranks above 7 are the peers
// 7, 8, ..., since the receiver is no peer of its own.
std::vector<int> block_neighbours(int peers) {
    const int ranks = peers + 1;
    // Roots of cubes are exact only after rounding: cbrt(27) may be just below 3.
    const auto root = [](double of) { return std::max(1, static_cast<int>(of + 1e-9)); };
    const int nx = root(std::cbrt(ranks));
    const int ny = root(std::sqrt(ranks / nx));
    const int nz = ranks / (nx * ny);
    const auto number = [&](int x, int y, int z) { return x + nx * (y + ny * z); };
    const int mine = number(nx / 2, ny / 2, nz / 2);
    std::vector<int> found;
    for (int z = nz / 2 - 1; z <= nz / 2 + 1; ++z)
        for (int y = ny / 2 - 1; y <= ny / 2 + 1; ++y)
            for (int x = nx / 2 - 1; x <= nx / 2 + 1; ++x) {
                const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
                if (const int rank = inside ? number(x, y, z) : mine; rank != mine)
                    found.push_back(rank < mine ? rank : rank - 1);
            }
    return found;
}

// A quarter of the neighbours are ahead, so that their messages arrive before the receives; the
// others' come in any order.  HPCG has one tag for all.
void write_hpcg(Writer &writer) {
    const std::vector<int> neighbours = block_neighbours(writer.peers());
    while (writer.begin_round()) {
        std::vector<Envelope> all, early, late;
        for (const int peer : neighbours) {
            auto &when = writer.below(4) == 0 ? early : late;
            for (int d = 0; d < writer.depth(); ++d) {
                all.push_back({0, peer, 0});
                when.push_back({0, peer, 0});
            }
        }
        writer.shuffle(early);
        writer.shuffle(late);
        writer.arrive_all(early);
        writer.post_all(all);
        writer.arrive_all(late);
    }
}

// 1, 4 or 16 blocks meet at the face to a neighbour, by how finely it is refined there, and each
// has a message; its tag is its place in the face.  After every four exchanges the mesh is refined:
// faces change by one level or not, and one of four moves to another rank, as blocks do to balance
// the load.
void write_miniamr(Writer &writer) {
    struct Face {
        int peer, level;
    };
    std::vector<Face> faces;
    for (const int peer : block_neighbours(writer.peers()))
        faces.push_back({peer, writer.below(3)});
    while (writer.begin_round()) {
        if (writer.round() % 4 == 3)
            for (Face &face : faces) {
                face.level = std::clamp(face.level + writer.below(3) - 1, 0, 2);
                if (writer.below(4) == 0)
                    face.peer = writer.below(writer.peers());
            }
        std::vector<Envelope> all;
        for (const Face &face : faces)
            for (int block = 0; block < (writer.depth() << (2 * face.level)); ++block)
                all.push_back({0, face.peer, block});
        writer.post_all(all);
        writer.shuffle(all);
        writer.arrive_all(all);
    }
}

} // namespace stretto::matching

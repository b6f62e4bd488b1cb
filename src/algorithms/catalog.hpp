// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, one file each: allreduce::ring() is declared in allreduce/ring.cpp.
#pragma once

#include "algorithms/algorithm.hpp"

namespace stretto::algorithms {

namespace allreduce {
Algorithm binomial();
Algorithm bruck();
Algorithm chain();
Algorithm circulant();
Algorithm direct();
Algorithm direct_canonical();
Algorithm dissemination();
Algorithm early_direct();
Algorithm generalized();
Algorithm hierarchical();
Algorithm hybrid();
Algorithm late_last();
Algorithm late_rooted();
Algorithm linear();
Algorithm one_shot();
Algorithm one_shot_canonical();
Algorithm pre_reduced_ring();
Algorithm rabenseifner();
Algorithm rabenseifner_32();
Algorithm recursive_doubling();
Algorithm ring();
Algorithm salar();
Algorithm segmented_ring();
Algorithm stragglar();
} // namespace allreduce

namespace reduce {
Algorithm binomial();
Algorithm chain();
Algorithm direct();
Algorithm direct_canonical();
Algorithm generalized();
Algorithm hierarchical();
Algorithm linear();
} // namespace reduce

namespace broadcast {
Algorithm binomial();
Algorithm chain();
Algorithm generalized();
Algorithm hierarchical();
Algorithm linear();
Algorithm scatter_allgather();
} // namespace broadcast

namespace reduce_scatter {
Algorithm bruck();
Algorithm circulant();
Algorithm direct();
Algorithm direct_canonical();
Algorithm generalized();
Algorithm hierarchical();
Algorithm recursive_halving();
Algorithm ring();
} // namespace reduce_scatter

namespace allgather {
Algorithm bruck();
Algorithm circulant();
Algorithm direct();
Algorithm generalized();
Algorithm hierarchical();
Algorithm late_last();
Algorithm ring();
} // namespace allgather

namespace gather {
Algorithm binomial();
Algorithm linear();
} // namespace gather

namespace scatter {
Algorithm binomial();
Algorithm linear();
} // namespace scatter

namespace alltoall {
Algorithm bruck();
Algorithm direct();
Algorithm pairwise();
} // namespace alltoall

// Barriers are allreduces of a vector that no caller sees (barrier.cpp).
namespace barrier {
Algorithm binomial();
Algorithm dissemination();
Algorithm linear();
Algorithm one_shot();
Algorithm recursive_doubling();
} // namespace barrier

} // namespace stretto::algorithms

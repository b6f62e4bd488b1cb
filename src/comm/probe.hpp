// SPDX-License-Identifier: BSD-3-Clause
// The state of the machine, as the memory system shows it.
#pragma once

namespace stretto::comm {

class Communicator;

// A collective call.  Gives, on all ranks, the nanoseconds that rank 0 takes to overwrite a cache
// line that rank 1 has just read; 0 if these ranks are on different hosts, or there is only one
// rank.
double probe(Communicator &communicator);

} // namespace stretto::comm

// SPDX-License-Identifier: BSD-3-Clause
// The state of the machine, as the memory system shows it.
#pragma once

namespace stretto::comm {

class Communicator;

// A collective call: nanoseconds that rank 0 takes to overwrite a line that rank 1 has just read,
// the same on all ranks; 0 if these are on two hosts, or one.
double probe(Communicator &communicator);

} // namespace stretto::comm

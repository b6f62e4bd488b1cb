// SPDX-License-Identifier: BSD-3-Clause
// The key-value space of the launcher that has started the job, in which each rank may publish that
// it has Stretto.
#pragma once

#include <memory>

namespace stretto::mpi {

// A variable that launchers set for a rank; null if it is not set.
const char *launcher_variable(const char *name);

class Launcher {
public:
    virtual ~Launcher() = default;
    enum class Ask { briefly, thoroughly };
    // Whether a rank has published its key.  A launcher may take seconds to say no.  A brief
    // question gets an answer at once, but "no" may then be wrong.
    virtual bool has(int rank, Ask ask = Ask::thoroughly) = 0;

    // Before the MPI library's own MPI_Init, and after it.
    static void begin();
    static void end();
    // Null if this rank could not publish.
    static std::unique_ptr<Launcher> find();
};

} // namespace stretto::mpi

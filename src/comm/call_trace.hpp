// SPDX-License-Identifier: BSD-3-Clause
// The trace of a rank's communicator: where it begins and ends.
#pragma once

#include <memory>

#include "arrival/job_clock.hpp"
#include "base/config.hpp"
#include "base/rank_file.hpp"
#include "base/status.hpp"
#include "trace/buffer.hpp"
#include "trace/recorder.hpp"
#include "transport/remote/linked_peers.hpp"
#include "transport/remote/traffic.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::comm {

class CallTrace {
public:
    // The linked peers, null if all ranks are on one host, must not outlive the trace: their
    // thread writes to it.  A communicator that is made of another has the trace of `parent`, null
    // if none is wanted.  Of others the config says.  Null: no trace is wanted.  What goes wrong is
    // posted, as the other ranks wait for this one.
    trace::Recorder *start(const Config::Trace &config, const RankIdentity &me,
                           const std::shared_ptr<trace::Buffer> *parent,
                           transport::Segment &segment, transport::LinkedPeers *linked_peers);

    // One for a rank and all of its communicators.
    std::shared_ptr<trace::Buffer> buffer() const {
        return recorder_ ? recorder_->shared_buffer() : nullptr;
    }
    // Writes it, if it is wanted.  Throws Error.
    void write(const arrival::JobClock &clock);
    // The communicator has failed.
    void failed(const Error &failure, const arrival::JobClock &clock) noexcept;

private:
    std::unique_ptr<trace::Recorder> recorder_;
    std::unique_ptr<transport::Traffic> traffic_;
};

} // namespace stretto::comm

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
    // Gives the recorder, or null if no trace is wanted.  A communicator that is made of another
    // has the trace `*parent`, null if none is wanted; for the job's own communicator `parent` is
    // null, and the config says.  The linked peers are null if all ranks are on one host; they must
    // not outlive the trace, since their thread writes to it.  An error is posted, because the
    // other ranks wait for this one.
    trace::Recorder *start(const Config::Trace &config, const RankIdentity &me,
                           const std::shared_ptr<trace::Buffer> *parent,
                           transport::Segment &segment, transport::LinkedPeers *linked_peers);

    // The buffer is shared by all communicators of a rank.
    std::shared_ptr<trace::Buffer> buffer() const {
        return recorder_ ? recorder_->shared_buffer() : nullptr;
    }
    // Writes the trace, if it is wanted.  Throws Error.
    void write(const arrival::JobClock &clock);
    // The communicator has failed: records the failure and writes the trace.
    void failed(const Error &failure, const arrival::JobClock &clock) noexcept;

private:
    std::unique_ptr<trace::Recorder> recorder_;
    std::unique_ptr<transport::Traffic> traffic_;
};

} // namespace stretto::comm

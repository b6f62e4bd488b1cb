// SPDX-License-Identifier: BSD-3-Clause
#include "dispatcher.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/process.hpp"
#include "base/thread.hpp"
#include "operation.hpp"

namespace nb = nanobind;

namespace stretto::python {

class Dispatched::Thread {
public:
    // With the GIL.  A forked child starts a thread of its own: it has none of its parent's.
    static Thread &of_this_process() {
        static Thread *thread = nullptr;
        static std::uint32_t process = 0;
        if (thread == nullptr || process != process_mark()) {
            thread = new Thread; // it may outlive main()
            process = process_mark();
            nb::module_::import_("atexit").attr("register")(
                nb::cpp_function([stopped = thread] { stopped->stop(); }));
            named_thread("stretto-py", [started = thread] { started->run(); }).detach();
        }
        return *thread;
    }

    void add(Dispatched *call) noexcept {
        {
            const std::lock_guard lock(mutex_);
            ordered_.push_back(call);
        }
        came_.notify_one();
    }

private:
    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        came_.notify_one();
    }

    // What is ordered after the end stays where it is: to free it would need the GIL.
    void run() {
        for (;;) {
            Dispatched *call = nullptr;
            {
                std::unique_lock lock(mutex_);
                came_.wait(lock, [this] { return stopped_ || !ordered_.empty(); });
                if (stopped_)
                    return;
                call = ordered_.front();
                ordered_.pop_front();
            }
            if (python_ends())
                return;
            const nb::gil_scoped_acquire acquired;
            try {
                call->function_();
            } catch (nb::python_error &error) {
                error.discard_as_unraisable(call->function_);
            }
            delete call;
        }
    }

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<Dispatched *> ordered_;
    bool stopped_ = false;
};

Dispatched::Dispatched(nb::object function)
    : thread_(Thread::of_this_process()), function_(std::move(function)) {}

Dispatched::~Dispatched() = default;

void Dispatched::order(Dispatched *call) noexcept {
    call->thread_.add(call);
}

} // namespace stretto::python

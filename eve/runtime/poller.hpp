#pragma once
// What a worker waits in when it has nothing to do. The default waits for other workers only; io
// brings one that waits for descriptors and timers too.
#include "base.hpp"

namespace eve {

struct worker;

struct poller {
    // Owner only. Waits until an event is there, wake() was called since the last wait, or the
    // time is over (-1: no limit). May return early. Runs no handler: the worker is counted as
    // asleep meanwhile.
    virtual void wait(i64 timeout_us) = 0;
    // Owner only. Handles the events that are there, without waiting for more: run_now or spawn for
    // each. Whether there was any. Handles a bounded number at a time.
    virtual bool poll() = 0;
    // Any thread. Lets wait() return, also the next one if none is under way.
    virtual void wake() = 0;
    virtual ~poller() {}
};

// Set before eve::run, by an initialiser of io when it is linked in; null: the default. Called on
// the worker's thread.
extern poller* (*make_poller)(worker* owner);

} // namespace eve

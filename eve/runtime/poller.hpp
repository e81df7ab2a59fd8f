#pragma once
// The function in which an idle worker waits. The default waits for other workers only. io has one
// that also waits for descriptors and timers.
#include "loan.hpp"

namespace eve {

struct worker;

struct poller {
    // The owner is inside during wait and poll, except while a handler runs.
    loan lending;

    // Owner only, outside. Waits until there is an event, wake() was called since the last wait,
    // or the time is over (-1: no limit). May return early. Runs no handler: the worker counts as
    // asleep meanwhile.
    virtual void wait(i64 timeout_us) = 0;
    // Owner only, outside. Handles the events that are there, by run_now or spawn, without
    // waiting. Handles a bounded number at a time. Returns whether there were any.
    virtual bool poll() = 0;
    // Any thread. Makes wait() return; if no wait is under way, the next one.
    virtual void wake() = 0;
    // Owner only, outside. Takes the poller of another worker, which is in a long body, if that
    // worker is not inside. wait() and poll() then serve it too, until its worker comes back.
    // False: not now.
    virtual bool serve(poller& other) {
        (void)other;
        return false;
    }
    // In fake time (fake_time.hpp). Any thread: whether nothing waits that others have sent here.
    virtual bool quiet() const noexcept { return true; }
    // In fake time. Any thread: a timer that it keeps is due. Ends the wait as wake does. Its
    // worker then takes the timer from the clock and expires it.
    virtual void timer_due() { wake(); }
    virtual ~poller() {}
};

// Set before eve::run, by an initialiser of io when it is linked in. Null: the default. Called on
// the worker's thread.
extern poller* (*make_poller)(worker* owner);

} // namespace eve

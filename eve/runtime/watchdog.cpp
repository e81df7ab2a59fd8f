// The watchdog: a thread that checks for roots that take too long, and for SIGQUIT while EVE_TRACE
// is set.
#include "scheduler.hpp"
#include "fail.hpp"
#include "forkjoin.hpp"
#include "threads.hpp"
#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace eve {
namespace {

constexpr i64 look_ms = 1000; // between two checks, and at most a quarter of the budget

struct watched {
    u64 turn = 0;
    i64 age_ms = 0;
};

constinit pthread_t watcher = 0;
constinit bool watching = false;
constinit atomic<u32> ending{0};
constinit watched seen[idle_set::most];

void look(i64 passed_ms) noexcept {
    for (int i = 0; i < the_scheduler.count; i++) {
        worker& w = the_scheduler.workers[i];
        u64 turn = w.turns.load(order::relaxed);
        watched& was = seen[i];
        if (turn != was.turn || the_scheduler.idle.asleep(i)) {
            was = watched{turn, 0};
            continue;
        }
        was.age_ms += passed_ms;
        if (was.age_ms < the_scheduler.budget_ms) continue;
        was.age_ms = 0;
        w.overtime.store(1, order::seq_cst);
        w.mark.fetch_or(check_bit, order::seq_cst);
    }
}

// Waits for this time, or for SIGQUIT.
void pass(i64 ms, const sigset_t& quit) noexcept {
    timespec limit = {ms / 1000, ms % 1000 * 1000000};
    if (!the_scheduler.tracing) return wait_on(ending, 0, ms * 1000);
    if (sigtimedwait(&quit, nullptr, &limit) == SIGQUIT && !ending.load(order::acquire))
        trace_report();
}

i64 now_ms() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void* watch(void*) {
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    i64 period = look_ms;
    if (the_scheduler.budget_ms > 0 && the_scheduler.budget_ms / 4 < period)
        period = the_scheduler.budget_ms / 4 + 1;
    for (i64 last = now_ms(); !ending.load(order::acquire);) {
        pass(period, quit);
        i64 now = now_ms();
        // A watchdog that wakes late does not know whether the workers could run meanwhile: the
        // process may have been stopped, or the machine may have been busy. So one check counts
        // for one period at most.
        i64 passed = now - last < period ? now - last : period;
        if (the_scheduler.budget_ms > 0) look(passed);
        last = now;
    }
    return nullptr;
}

} // namespace

void start_watchdog() {
    if constexpr (modelled) return;
    if (the_scheduler.budget_ms <= 0 && !the_scheduler.tracing) return;
    ending.store(0, order::relaxed);
    for (watched& w : seen) w = watched();
    sigset_t all, was;
    sigfillset(&all);
    // signals are for other threads; this one waits for SIGQUIT
    pthread_sigmask(SIG_SETMASK, &all, &was);
    watching = pthread_create(&watcher, nullptr, watch, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &was, nullptr);
}

void stop_watchdog() {
    if (!watching) return;
    ending.store(1, order::release);
    wake_on(ending, 1);
    if (the_scheduler.tracing) pthread_kill(watcher, SIGQUIT);
    pthread_join(watcher, nullptr);
    watching = false;
}

void over_budget(worker* w, const site* at) {
    // the code that cleans up after the failure has the full time again
    w->overtime.store(0, order::relaxed);
    fail(at, "the time budget of the task is used up");
}

} // namespace eve

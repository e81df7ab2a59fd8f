// The thread that looks at the workers from outside: roots that take too long, and SIGQUIT while
// EVE_TRACE is set.
#include "crew.hpp"
#include "fail.hpp"
#include "forkjoin.hpp"
#include "threads.hpp"
#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace eve {
namespace {

constexpr i64 look_ms = 1000; // between two looks, and at most a quarter of the budget

struct watched {
    u64 turn = 0;
    i64 age_ms = 0;
};

constinit pthread_t watcher = 0;
constinit bool watching = false;
constinit atomic<u32> ending{0};
constinit watched seen[idle_set::most];

void look(i64 passed_ms) noexcept {
    for (int i = 0; i < the_crew.count; i++) {
        worker& w = the_crew.workers[i];
        u64 turn = w.turns.load(order::relaxed);
        watched& was = seen[i];
        if (turn != was.turn || the_crew.idle.asleep(i)) {
            was = watched{turn, 0};
            continue;
        }
        was.age_ms += passed_ms;
        if (was.age_ms < the_crew.budget_ms) continue;
        was.age_ms = 0;
        w.overtime.store(1, order::seq_cst);
        w.mark.fetch_or(attention, order::seq_cst);
    }
}

// Waits for the time, or for SIGQUIT.
void pass(i64 ms, const sigset_t& quit) noexcept {
    timespec limit = {ms / 1000, ms % 1000 * 1000000};
    if (!the_crew.tracing) return wait_on(ending, 0, ms * 1000);
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
    if (the_crew.budget_ms > 0 && the_crew.budget_ms / 4 < period)
        period = the_crew.budget_ms / 4 + 1;
    for (i64 last = now_ms(); !ending.load(order::acquire);) {
        pass(period, quit);
        i64 now = now_ms();
        // A watcher that comes late does not know whether the workers could run meanwhile: the
        // process may have been stopped, or the machine have had no time for it. So one look counts
        // for one period at most.
        i64 passed = now - last < period ? now - last : period;
        if (the_crew.budget_ms > 0) look(passed);
        last = now;
    }
    return nullptr;
}

} // namespace

void start_watch() {
    if constexpr (modelled) return;
    if (the_crew.budget_ms <= 0 && !the_crew.tracing) return;
    ending.store(0, order::relaxed);
    for (watched& w : seen) w = watched();
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); // signals are for others; SIGQUIT is waited for
    watching = pthread_create(&watcher, nullptr, watch, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &was, nullptr);
}

void stop_watch() {
    if (!watching) return;
    ending.store(1, order::release);
    wake_on(ending, 1);
    if (the_crew.tracing) pthread_kill(watcher, SIGQUIT);
    pthread_join(watcher, nullptr);
    watching = false;
}

void over_budget(worker* w, const site* at) {
    w->overtime.store(0, order::relaxed); // what cleans up after the failure has its time again
    fail(at, "the time budget of the task is used up");
}

} // namespace eve

// The watchdog: a thread that checks for roots that take too long, finds workers whose pollers
// others should serve, and waits for SIGQUIT while EVE_TRACE is set.
//
// A worker is stuck if it has been in one body for a while and nobody serves its poller: the body
// computes, or a C function blocks. The watchdog marks it and wakes a worker that sleeps, which
// takes the poller (loan.hpp). It looks often only while workers run, and very often only after
// one was stuck. When all workers sleep, or all that run are served, it rests.
#include "scheduler.hpp"
#include "fail.hpp"
#include "forkjoin.hpp"
#include "threads.hpp"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

namespace eve {

constinit atomic<u32> roots_over_time{0};

namespace {

constexpr char spent[] = "the time budget of the task is used up";
constexpr i64 check_us = 1'000'000;      // between two checks of budgets; at most a quarter of one
constexpr i64 watch_us = 5000;           // between two looks for stuck workers; a guess
constexpr i64 alert_us = 100;            // the same, after a worker was stuck; a guess
constexpr i64 alert_for_us = 10'000'000; // how long it is alert after that; a guess
constexpr i64 rest_after_us = 20'000;    // without any progress of workers; a guess
constexpr i64 stuck_us = 100;            // in one body; longer than most handlers take

struct watched {
    u64 turn = 0, stamp = 0;
    i64 turn_us = 0, body_us = 0; // since they have changed
};

constinit pthread_t watcher = 0;
constinit bool watching = false;
constinit atomic<u32> ending{0};
constinit watched seen[idle_set::most];

// Of one run of the watchdog.
struct watch_state {
    i64 budget_us = 0;
    i64 quiet_us = 0; // since a worker has made progress
    i64 alert_left_us = 0;
    u64 taken = 0;
};

bool stuck(int i) noexcept { return !the_scheduler.idle.asleep(i) && seen[i].body_us >= stuck_us; }

// Notes for check_recursion whether some root is over its time.
void tell_over_time() noexcept {
    u32 over = 0;
    for (int i = 0; i < the_scheduler.count; i++)
        over |= u32(the_scheduler.workers[i].overtime.load(order::relaxed));
    if (over != roots_over_time.load(order::relaxed)) roots_over_time.store(over, order::relaxed);
}

// Whether the worker is away, and another one that is not stuck itself serves its poller.
bool served(const worker& w) noexcept {
    if (!w.io->lending.away()) return false;
    int guest = w.io->lending.guest();
    return guest >= 0 && !stuck(guest);
}

void check_budget_of(int i, i64 passed_us, i64 budget_us) noexcept {
    worker& w = the_scheduler.workers[i];
    u64 turn = w.turns.load(order::relaxed);
    watched& was = seen[i];
    if (turn != was.turn || the_scheduler.idle.asleep(i)) {
        was.turn = turn;
        was.turn_us = 0;
        return;
    }
    was.turn_us += passed_us;
    if (was.turn_us < budget_us) return;
    was.turn_us = 0;
    w.overtime.store(1, order::seq_cst);
    w.mark.fetch_or(check_bit, order::seq_cst);
}

// Notes how long each worker has been in its body. Returns whether any has made progress.
bool note_progress(i64 passed_us) noexcept {
    bool any = false;
    for (int i = 0; i < the_scheduler.count; i++) {
        const worker& w = the_scheduler.workers[i];
        watched& was = seen[i];
        u64 stamp = w.turns.load(order::relaxed) + w.made.load(order::relaxed);
        bool same = stamp == was.stamp && !the_scheduler.idle.asleep(i);
        was.body_us = same ? was.body_us + passed_us : 0;
        any = any || stamp != was.stamp;
        was.stamp = stamp;
    }
    return any;
}

// Wakes a worker that sleeps. False: there is none.
bool wake_sleeper() noexcept {
    for (int i = 0; i < the_scheduler.count; i++) {
        if (!the_scheduler.idle.asleep(i)) continue;
        the_scheduler.workers[i].io->wake();
        return true;
    }
    return false;
}

// Marks the stuck workers. Returns whether to look again soon: a worker may get stuck, or was
// marked and is about to be served. If none sleeps, the next one that polls sees the marks.
bool mark_stuck() noexcept {
    bool again = false, marked = false;
    for (int i = 0; i < the_scheduler.count; i++) {
        worker& w = the_scheduler.workers[i];
        if (the_scheduler.idle.asleep(i) || served(w)) continue;
        if (!stuck(i) || w.io->lending.inside()) {
            again = true;
            if (w.stuck.load(order::relaxed) != 0) w.stuck.store(0, order::relaxed);
            continue;
        }
        w.stuck.store(1, order::seq_cst);
        marked = true;
    }
    if (!marked) return again;
    the_scheduler.stuck.store(1, order::seq_cst);
    return wake_sleeper() || again;
}

// Returns the time until the next look at the workers' pollers; below 0: until call_watchdog.
i64 look_at_pollers(watch_state& s, i64 passed_us) noexcept {
    bool progress = note_progress(passed_us);
    bool again = mark_stuck();
    u64 taken = the_scheduler.taken.load(order::relaxed);
    if (taken != s.taken) s.alert_left_us = alert_for_us;
    else if (s.alert_left_us > 0) s.alert_left_us -= passed_us;
    s.taken = taken;
    s.quiet_us = progress ? 0 : s.quiet_us + passed_us;
    if (again || s.quiet_us < rest_after_us) return s.alert_left_us > 0 ? alert_us : watch_us;
    return -1;
}

// A worker that wakes leaves the set of sleepers and then reads `unwatched`; this sets it and then
// looks at the set. So one of the two sees the other.
bool may_rest() noexcept {
    the_scheduler.unwatched.store(1, order::seq_cst);
    int asleep = 0, attended = 0;
    for (int i = 0; i < the_scheduler.count; i++) {
        const worker& w = the_scheduler.workers[i];
        if (the_scheduler.idle.asleep(i)) asleep++;
        else if (served(w) || w.stuck.load(order::seq_cst) != 0) attended++;
    }
    bool all = asleep + attended == the_scheduler.count && asleep == the_scheduler.idle.count() &&
               ending.load(order::seq_cst) == 0;
    if (!all) the_scheduler.unwatched.store(0, order::seq_cst);
    return all;
}

bool lends_pollers() noexcept { return make_poller != nullptr && the_scheduler.count > 1; }

// While nothing is armed, no poller has anything to hand out: all that waits are tasks.
bool nothing_comes() noexcept { return the_scheduler.armed.load(order::seq_cst) == 0; }

bool all_asleep() noexcept { return the_scheduler.idle.count() == the_scheduler.count; }

// Waits for this time (below 0: without a limit), for SIGQUIT, or for call_watchdog if it rests.
void pass(i64 us, bool rests, const sigset_t& quit) noexcept {
    if (the_scheduler.tracing) {
        if (us < 0 || us > check_us) us = check_us;
        timespec limit = {us / 1'000'000, us % 1'000'000 * 1000};
        if (sigtimedwait(&quit, nullptr, &limit) == SIGQUIT && !ending.load(order::acquire))
            trace_report();
    } else if (rests) {
        wait_on(the_scheduler.unwatched, 1, us);
    } else {
        wait_on(ending, 0, us);
    }
    if (rests) the_scheduler.unwatched.store(0, order::seq_cst);
}

i64 now_us() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000 + t.tv_nsec / 1000;
}

void* watch(void*) {
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    watch_state s;
    s.budget_us = the_scheduler.budget_ms * 1000;
    i64 quarter = s.budget_us / 4;
    i64 check = s.budget_us > 0 && quarter < check_us ? quarter + 1 : check_us;
    i64 period = watch_us;
    for (i64 last = now_us(); !ending.load(order::acquire);) {
        bool rests = period < 0 && may_rest();
        if (period < 0) period = !rests ? watch_us : all_asleep() || s.budget_us <= 0 ? -1 : check;
        pass(period, rests, quit);
        i64 now = now_us();
        // A watchdog that wakes late does not know whether the workers could run meanwhile: the
        // process may have been stopped, or the machine may have been busy. So one check counts
        // for one period at most. After a rest without a limit all workers begin anew.
        i64 passed = period < 0 ? 0 : now - last < period ? now - last : period;
        last = now;
        period = watch_us;
        if (the_scheduler.opened.load(order::acquire) < u32(the_scheduler.count)) continue;
        for (int i = 0; s.budget_us > 0 && i < the_scheduler.count; i++)
            check_budget_of(i, passed, s.budget_us);
        if (s.budget_us > 0) tell_over_time();
        if (lends_pollers() && !nothing_comes()) period = look_at_pollers(s, passed);
        else period = all_asleep() ? -1 : lends_pollers() ? watch_us : check;
    }
    return nullptr;
}

} // namespace

void call_watchdog() noexcept {
    if (likely(the_scheduler.unwatched.load(order::seq_cst) == 0)) return;
    the_scheduler.unwatched.store(0, order::seq_cst);
    wake_on(the_scheduler.unwatched, 1);
}

void start_watchdog() {
    if constexpr (modelled) return;
    if (the_scheduler.budget_ms <= 0 && !the_scheduler.tracing && !lends_pollers()) return;
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
    ending.store(1, order::seq_cst);
    wake_on(ending, 1);
    call_watchdog();
    if (the_scheduler.tracing) pthread_kill(watcher, SIGQUIT);
    pthread_join(watcher, nullptr);
    watching = false;
}

void over_budget(worker* w, const site* at) {
    // the code that cleans up after the failure has the full time again
    w->overtime.store(0, order::relaxed);
    fail(at, spent);
}

void end_over_budget(const site* at) noexcept {
    worker* w = self();
    if (w == nullptr || w->overtime.load(order::relaxed) == 0) return; // another worker's root
    char line[200];
    snprintf(line, sizeof line, "%s:%d: %s", at->file, at->line, spent);
    die(line);
}

} // namespace eve

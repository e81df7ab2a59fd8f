#include "runtime.hpp"
#include "scheduler.hpp"
#include "fail.hpp"
#include "fake_time.hpp"
#include "lock.hpp"
#include "profile.hpp"
#include "saving.hpp"
#include "threads.hpp"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

namespace eve {
namespace {

constexpr usize most_frames = 1 << 20; // of a worker: 64 MiB reserved, not touched
constexpr usize least_frames = 1 << 14;
constexpr i64 usual_budget_ms = 60 * 1000; // of a root

constinit int argc_given = 0;
constinit char** argv_given = nullptr;
constinit end_hook* hooks = nullptr;
constinit spin_lock hooking;
constinit atomic<u32> ending{0};

f64 number_from(const char* name, f64 usual) noexcept {
    const char* text = getenv(name);
    if (!text || !*text) return usual;
    char* end;
    f64 x = strtod(text, &end);
    return *end == 0 && x >= 0 ? x : usual;
}

int workers_wanted() noexcept {
    i64 n = i64(number_from("EVE_WORKERS", 0));
    if (n < 1) return usable_cpus();
    return n > idle_set::most ? idle_set::most : int(n);
}

void call_hooks() noexcept {
    for (;;) {
        end_hook* hook;
        {
            locked guard(hooking);
            hook = hooks;
            if (!hook) return;
            hooks = hook->next;
        }
        hook->call();
    }
}

// A running worker may access the pollers of the others, so all begin together.
void worker_thread(void* argument) {
    auto* w = static_cast<worker*>(argument);
    this_worker = w;
    w->memory = open_heap();
    expect_signals();
    w->io = make_poller ? make_poller(w) : new_futex_poller();
    atomic<u32>& opened = the_scheduler.opened;
    u32 n = opened.fetch_add(1, order::acq_rel) + 1;
    wake_on(opened, idle_set::most);
    for (; n < u32(the_scheduler.count); n = opened.load(order::acquire)) wait_on(opened, n, -1);
    profile_worker(w);
    work(w);
    unprofile_worker();
    close_heap(w->memory);
    this_worker = nullptr;
}

void open_worker(worker* w, int id) {
    new (place{w}) worker;
    w->id = id;
    w->random = 2654435761u * u32(id + 1);
    usize bytes = most_frames * sizeof(frame);
    w->first = static_cast<frame*>(reserve(bytes, least_frames * sizeof(frame)));
    w->end = w->first + bytes / sizeof(frame);
    name_guard(w->first, bytes, "eve: too many tasks in one finish\n");
    w->limit = w->first + (w->end - w->first) / 2; // loops leave the other half to recursion
    w->split = w->floor = w->first;
    // A steal is requested from the start: workers that have not begun yet are idle and cannot
    // request one.
    w->mark.store(the_scheduler.count > 1 ? steal_requested
                                          : reinterpret_cast<u64>(w->first + enough_frames),
                  order::relaxed);
}

void run_workers(thread* threads) {
    for (int i = 0; i < the_scheduler.count; i++)
        threads[i].start(worker_thread, &the_scheduler.workers[i]);
    for (int i = 0; i < the_scheduler.count; i++) threads[i].join();
}

void open_scheduler() {
    the_scheduler.count = workers_wanted();
    the_scheduler.budget_ms = i64(number_from("EVE_BUDGET", f64(usual_budget_ms) / 1000) * 1000);
    the_scheduler.tracing = number_from("EVE_TRACE", 0) != 0;
    the_scheduler.stopping.store(0, order::relaxed);
    the_scheduler.idle.forget();
    the_scheduler.foreign_made = 0;
    the_scheduler.opened.store(0, order::relaxed);
    the_scheduler.stuck.store(0, order::relaxed);
    the_scheduler.unwatched.store(0, order::relaxed);
    prepare_fences();
    the_scheduler.workers = static_cast<worker*>(
        aligned_alloc(alignof(worker), usize(the_scheduler.count) * sizeof(worker)));
    if (!the_scheduler.workers) die_out_of_memory();
    for (int i = 0; i < the_scheduler.count; i++) open_worker(&the_scheduler.workers[i], i);
    open_recording();
    open_profile();
    if (!the_scheduler.tracing) return;
    sigset_t quit; // only the watchdog waits for it
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &quit, nullptr);
}

void close_scheduler() {
    for (spinning s; the_scheduler.foreign_threads.load(order::acquire) != 0;) s.turn();
    forget_saves();
    close_recording();
    close_profile();
    the_fake_clock.close();
    for (int i = 0; i < the_scheduler.count; i++) {
        worker& w = the_scheduler.workers[i];
        delete w.io;
        unreserve(w.first, usize(w.end - w.first) * sizeof(frame));
    }
    free(the_scheduler.workers);
    the_scheduler.workers = nullptr;
    the_scheduler.count = 0;
}

} // namespace

u64 roots_left() noexcept {
    u64 made = the_scheduler.foreign_made, ended = 0;
    for (int i = 0; i < the_scheduler.count; i++) {
        made += the_scheduler.workers[i].made.load(order::relaxed);
        ended += the_scheduler.workers[i].ended;
    }
    return made - ended;
}

void contain_nothing() noexcept { the_scheduler.strict = true; }

int run(int argc, char** argv, void (*start)(worker*, frame*)) {
    argc_given = argc;
    argv_given = argv;
    open_scheduler();
    spawn([start](worker* w, frame* top) { start(w, top); });
    auto* threads = new thread[usize(the_scheduler.count)];
    expect_signals();
    start_watchdog();
    run_workers(threads);
    stop_watchdog();
    delete[] threads;
    u64 left = roots_left();
    call_hooks();
    if (the_scheduler.tracing || left) trace_report();
    close_scheduler();
    if (left) die("tasks were left that nobody can run"); // an error in the runtime
    return 0;
}

int argument_count() noexcept { return argc_given; }
char** arguments() noexcept { return argv_given; }

void at_end(end_hook* hook) noexcept {
    locked guard(hooking);
    hook->next = hooks;
    hooks = hook;
}

void end_process(int status) noexcept {
    if (ending.exchange(1, order::acq_rel))
        for (;;) yield_thread(); // another thread is ending the process
    call_hooks();
    if (the_scheduler.tracing) trace_report();
    _exit(status);
}

} // namespace eve

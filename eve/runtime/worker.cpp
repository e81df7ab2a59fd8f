#include "worker.hpp"
#include "fake_time.hpp"
#include "scheduler.hpp"
#include "output.hpp"
#include "scope.hpp"
#include "threads.hpp"

namespace eve {

constinit thread_local worker* this_worker = nullptr;
constinit scheduler the_scheduler;
poller* (*make_poller)(worker* owner) = nullptr;

namespace {

// roots run in a row from run_next, before others have their turn; a guess
constexpr u32 run_next_most = 32;
// picks between two looks at the global queue; a prime, so that it meets all phases
constexpr u32 global_every = 61;
// between two polls: at most 100 us at 2 GHz and more
constexpr u64 poll_ticks = 200000;
// over all workers, 10 to 20 us, if the last search found something
constexpr int most_rounds = 128;
// else half as many each time: if all work comes by events, a search is wasted
constexpr int least_rounds = 2;
constexpr i32 steal_batch_most = 32; // roots stolen at a time
// nested roots and frames run while waiting on one stack; leapfrogging may use twice as many
constexpr int depth_most = 64;

u32 next_random(worker* w) noexcept {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 17;
    w->random ^= w->random << 5;
    return w->random;
}

void push_global(task* t) noexcept {
    locked guard(the_scheduler.lock);
    t->next = nullptr;
    *the_scheduler.last = t;
    the_scheduler.last = &t->next;
    the_scheduler.global_size.fetch_add(1, order::seq_cst);
}

task* pop_global() noexcept {
    if (the_scheduler.global_size.load(order::relaxed) == 0) return nullptr;
    locked guard(the_scheduler.lock);
    task* t = the_scheduler.first;
    if (!t) return nullptr;
    the_scheduler.first = t->next;
    if (!the_scheduler.first) the_scheduler.last = &the_scheduler.first;
    the_scheduler.global_size.fetch_sub(1, order::seq_cst);
    return t;
}

void push_ready(worker* w, task* t) noexcept {
    if (!w->queue.push(t)) push_global(t);
    wake_worker();
}

// The root may run, and be the last one, before this returns. So the thread is counted meanwhile.
void push_foreign(task* t) noexcept {
    the_scheduler.foreign_threads.fetch_add(1, order::seq_cst);
    push_global(t);
    wake_worker();
    the_scheduler.foreign_threads.fetch_sub(1, order::release);
}

task* next_task(worker* w) noexcept {
    if (task* t = w->run_next) {
        w->run_next = nullptr;
        if (++w->run_next_count <= run_next_most ||
            (w->queue.empty() && the_scheduler.global_size.load(order::relaxed) == 0))
            return t;
        push_ready(w, t);
    }
    w->run_next_count = 0;
    if (++w->picks % global_every == 0)
        if (task* t = pop_global()) return t;
    if (task* t = w->queue.pop()) return t;
    return pop_global();
}

// Steals a public frame of any other worker.
frame* steal_any(worker* w) noexcept {
    int n = the_scheduler.count;
    u32 start = next_random(w) % u32(n);
    for (int i = 0; i < n; i++) {
        worker* v = &the_scheduler.workers[(start + u32(i)) % u32(n)];
        if (v == w) continue;
        if (frame* k = steal(v)) return k;
    }
    return nullptr;
}

// Moves up to half of another worker's roots into this queue, so that small roots are not stolen
// one by one. Roots that do not fit go to the global queue.
void steal_batch(worker* w, worker* from) noexcept {
    i32 n = i32(from->queue.size()) / 2; // below 0 if it was read during a change
    for (i32 i = 0; i < n && i < steal_batch_most; i++) {
        task* t = from->queue.pop();
        if (!t) return;
        if (!w->queue.push(t)) push_global(t);
    }
}

task* steal_root(worker* w) noexcept {
    int n = the_scheduler.count;
    u32 start = next_random(w) % u32(n);
    for (int i = 0; i < n; i++) {
        worker* v = &the_scheduler.workers[(start + u32(i)) % u32(n)];
        task* t = v->queue.pop();
        if (!t) continue;
        if (v != w) steal_batch(w, v);
        if (unlikely(recording.on) && v != w) record_took(w, v, t);
        return t;
    }
    return pop_global();
}

bool anything() noexcept {
    if (the_scheduler.global_size.load(order::seq_cst) != 0) return true;
    for (int i = 0; i < the_scheduler.count; i++) {
        worker* v = &the_scheduler.workers[i];
        if (!v->queue.empty() || has_public(v)) return true;
    }
    return false;
}

void begin_turn(worker* w) noexcept {
    w->turns.store(w->turns.load(order::relaxed) + 1, order::relaxed);
    if (w->overtime.load(order::relaxed)) w->overtime.store(0, order::relaxed);
}

void stop_searching(worker* w) noexcept {
    w->searcher = false;
    w->search_rounds = most_rounds;
    the_scheduler.idle.end_search();
    wake_worker(); // there may be more work at the same place
}

// Searches for work of other workers, as the only searcher. Returns whether it found and ran some.
bool search(worker* w) noexcept {
    if (!w->searcher) {
        if (the_scheduler.idle.count() + 1 >= the_scheduler.count && !anything())
            return false; // no worker is awake to steal from
        if (!the_scheduler.idle.begin_search()) return false;
        w->searcher = true;
    }
    for (int i = 0; i < w->search_rounds && !the_scheduler.stopping.load(order::relaxed); i++) {
        if (frame* k = steal_any(w)) {
            stop_searching(w);
            begin_turn(w);
            run_stolen(w, w->first, k);
            return true;
        }
        if (task* t = steal_root(w)) {
            stop_searching(w);
            begin_turn(w);
            run_root(w, t, w->first, true);
            return true;
        }
        pause();
    }
    w->search_rounds = w->search_rounds / 2 > least_rounds ? w->search_rounds / 2 : least_rounds;
    return false;
}

void wait(worker* w) noexcept {
    if (unlikely(recording.on)) record(w, recorded::sleeps);
    w->io->wait(-1);
    if (unlikely(recording.on)) record(w, recorded::wakes);
}

// Whether all workers sleep and nothing will wake one. Only who is awake arms and disarms: so all
// must have slept from before the look at what is armed until after it. A worker that was woken
// meanwhile looks again when it falls asleep.
bool at_the_end() noexcept {
#ifdef EVE_MUTATE_END
    if (the_scheduler.idle.count() != the_scheduler.count) return false;
    for (int i = 0; i < 200; i++) (void)the_scheduler.armed.load(order::seq_cst); // it is held up
    return the_scheduler.armed.load(order::seq_cst) == 0;
#else
    u64 state;
    return the_scheduler.idle.all_asleep(the_scheduler.count, state) &&
           the_scheduler.armed.load(order::seq_cst) == 0 && the_scheduler.idle.same(state);
#endif
}

void sleep(worker* w) noexcept {
    flush_outputs(); // before the worker counts as asleep, since a full pipe may block it
    bool searched = w->searcher;
    w->searcher = false;
#ifdef EVE_MUTATE_SLEEP
    bool found = anything();
    the_scheduler.idle.enter(w->id, searched);
#else
    the_scheduler.idle.enter(w->id, searched);
    for (int i = 0; i < the_scheduler.count; i++)
        if (i != w->id)
            // the next one that forks publishes frames, and then wakes a worker
            request_steal(&the_scheduler.workers[i]);
    bool found = anything();
#endif
    if (!found) {
        if (at_the_end()) stop_all();
        else if (unlikely(the_fake_clock.on())) the_fake_clock.jump();
        if (!the_scheduler.stopping.load(order::seq_cst)) wait(w);
    }
    w->searcher = the_scheduler.idle.leave(w->id);
    call_watchdog();
}

// Takes the pollers of workers that the watchdog has found in long bodies.
[[gnu::cold, gnu::noinline]] void take_over(worker* w) noexcept {
    the_scheduler.stuck.store(0, order::seq_cst);
    for (int i = 0; i < the_scheduler.count; i++) {
        worker* v = &the_scheduler.workers[i];
        if (v == w || v->stuck.exchange(0, order::seq_cst) == 0) continue;
        if (!w->io->serve(*v->io)) continue;
        the_scheduler.taken.fetch_add(1, order::relaxed);
        if (unlikely(recording.on)) record(w, recorded::serves, u64(v->id));
    }
    call_watchdog();
}

[[gnu::cold, gnu::noinline]] bool poll_recorded(worker* w, u64 begin) noexcept {
    bool any = w->io->poll();
    if (any) record(w, recorded::polled, 0, begin);
    return any;
}

// Polls for events, unless that was just done. Returns whether there were any.
bool poll_events(worker* w, bool always) noexcept {
    u64 now = ticks();
    if (!always && !w->starts && now - w->polled < poll_ticks) return false;
    w->polled = now;
    begin_turn(w);
    if (unlikely(the_scheduler.stuck.load(order::relaxed) != 0)) take_over(w);
    if (unlikely(recording.on)) return poll_recorded(w, now);
    return w->io->poll();
}

} // namespace

void wake_worker() noexcept {
    int id = the_scheduler.idle.wake_one();
    if (id >= 0) the_scheduler.workers[id].io->wake();
}

void make_ready(task* t) noexcept {
    if (t->home) return t->home->ready(t);
    worker* w = self();
    if (!w) return push_foreign(t);
    if (w->sets_run_next && !w->run_next) {
        w->run_next = t;
        return;
    }
    push_ready(w, t);
}

bool help(worker* w, frame* top, int thief, bool roots) noexcept {
    if (w->depth >= 2 * depth_most) return false;
    frame* k = thief >= 0 ? steal(&the_scheduler.workers[thief]) : nullptr;
    bool may = w->depth < depth_most;
    if (!k && may) k = steal_any(w);
    task* t = !k && may && roots ? steal_root(w) : nullptr;
    if (!k && !t) return false;
    w->depth++;
    if (k) run_stolen(w, top, k);
    else run_root(w, t, top, false);
    w->depth--;
    return true;
}

void work(worker* w) noexcept {
    while (!the_scheduler.stopping.load(order::relaxed)) {
        if (w->searcher && search(w)) continue;
        if (w->searcher) { // woken, but too late
            w->searcher = false;
            the_scheduler.idle.end_search();
        }
        if (task* t = next_task(w)) {
            begin_turn(w);
            run_root(w, t, w->first, true);
            poll_events(w, false);
            continue;
        }
        if (poll_events(w, true) || search(w)) continue;
        sleep(w);
    }
}

void came_back(worker* w) noexcept {
    if (unlikely(recording.on)) record(w, recorded::back);
    call_watchdog();
}

void stop_all() noexcept {
    the_scheduler.stopping.store(1, order::seq_cst);
    for (int i = 0; i < the_scheduler.count; i++) the_scheduler.workers[i].io->wake();
}

void arm() noexcept { the_scheduler.armed.fetch_add(1, order::seq_cst); }
void disarm() noexcept { the_scheduler.armed.fetch_sub(1, order::seq_cst); }

int worker_count() noexcept { return the_scheduler.count; }
worker* worker_at(int i) noexcept { return &the_scheduler.workers[i]; }

bool cancelled() noexcept {
    worker* w = self();
    if (!w) return false;
    if (w->within && w->within->failed()) return true;
    if (sibling_failed(w)) return true;
    return w->stolen && (w->stolen->state.load(order::relaxed) & frame::cancel);
}

} // namespace eve

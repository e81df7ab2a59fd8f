#include "worker.hpp"
#include "crew.hpp"
#include "output.hpp"
#include "scope.hpp"
#include "threads.hpp"

namespace eve {

constinit thread_local worker* this_worker = nullptr;
constinit crew the_crew;
poller* (*make_poller)(worker* owner) = nullptr;

namespace {

constexpr u32 hot_most =
    32; // roots in a row that came by hand-over; then others have their turn. A guess
constexpr u32 common_every =
    61; // picks between two looks at the common list; a prime, so that it meets all phases
constexpr u64 poll_ticks =
    200000; // between two looks at the poller: at most 100 us at 2 GHz and more
constexpr int most_rounds =
    128; // of a search over all workers, 10 to 20 us, if the last one found something
constexpr int least_rounds =
    2; // else less each time: where work comes by events, a wait for others' is lost
constexpr i32 share_most = 32; // roots fetched at a time
constexpr int depth_most =
    64; // roots and frames on one stack by waiting; leapfrogging may go twice as far

u32 next_random(worker* w) noexcept {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 17;
    w->random ^= w->random << 5;
    return w->random;
}

void push_common(task* t) noexcept {
    locked guard(the_crew.lock);
    t->next = nullptr;
    *the_crew.last = t;
    the_crew.last = &t->next;
    the_crew.common.fetch_add(1, order::seq_cst);
}

task* pop_common() noexcept {
    if (the_crew.common.load(order::relaxed) == 0) return nullptr;
    locked guard(the_crew.lock);
    task* t = the_crew.first;
    if (!t) return nullptr;
    the_crew.first = t->next;
    if (!the_crew.first) the_crew.last = &the_crew.first;
    the_crew.common.fetch_sub(1, order::seq_cst);
    return t;
}

void push_ready(worker* w, task* t) noexcept {
    if (!w->ready.push(t)) push_common(t);
    call_worker();
}

// The root may run, and be the last one, before this has returned.
void push_from_outside(task* t) noexcept {
    the_crew.outsiders.fetch_add(1, order::seq_cst);
    push_common(t);
    call_worker();
    the_crew.outsiders.fetch_sub(1, order::release);
}

task* next_task(worker* w) noexcept {
    if (task* t = w->hot) {
        w->hot = nullptr;
        if (++w->hot_runs <= hot_most ||
            (w->ready.empty() && the_crew.common.load(order::relaxed) == 0))
            return t;
        push_ready(w, t);
    }
    w->hot_runs = 0;
    if (++w->picks % common_every == 0)
        if (task* t = pop_common()) return t;
    if (task* t = w->ready.pop()) return t;
    return pop_common();
}

// A public frame of anybody else.
frame* claim_any(worker* w) noexcept {
    int n = the_crew.count;
    u32 start = next_random(w) % u32(n);
    for (int i = 0; i < n; i++) {
        worker* v = &the_crew.workers[(start + u32(i)) % u32(n)];
        if (v == w) continue;
        if (frame* k = claim(v)) return k;
    }
    return nullptr;
}

// Moves up to half of another worker's roots over, so that small ones are not fetched one by one.
// Those that do not fit go to everybody.
void share_roots(worker* w, worker* from) noexcept {
    i32 n = i32(from->ready.size()) / 2; // below 0 if it was read while it changed
    for (i32 i = 0; i < n && i < share_most; i++) {
        task* t = from->ready.pop();
        if (!t) return;
        if (!w->ready.push(t)) push_common(t);
    }
}

task* root_of_any(worker* w) noexcept {
    int n = the_crew.count;
    u32 start = next_random(w) % u32(n);
    for (int i = 0; i < n; i++) {
        worker* v = &the_crew.workers[(start + u32(i)) % u32(n)];
        task* t = v->ready.pop();
        if (!t) continue;
        if (v != w) share_roots(w, v);
        return t;
    }
    return pop_common();
}

bool anything() noexcept {
    if (the_crew.common.load(order::seq_cst) != 0) return true;
    for (int i = 0; i < the_crew.count; i++) {
        worker* v = &the_crew.workers[i];
        if (!v->ready.empty() || has_public(v)) return true;
    }
    return false;
}

void begin_turn(worker* w) noexcept {
    w->turns.store(w->turns.load(order::relaxed) + 1, order::relaxed);
    if (w->overtime.load(order::relaxed)) w->overtime.store(0, order::relaxed);
}

void stop_searching(worker* w) noexcept {
    w->searcher = false;
    w->patience = most_rounds;
    the_crew.idle.end_search();
    call_worker(); // there may be more where this came from
}

// Looks for work of others, as the only one who does. Whether it found and ran some.
bool search(worker* w) noexcept {
    if (!w->searcher) {
        if (the_crew.idle.count() + 1 >= the_crew.count && !anything())
            return false; // nobody is there to steal from
        if (!the_crew.idle.begin_search()) return false;
        w->searcher = true;
    }
    for (int i = 0; i < w->patience && !the_crew.stopping.load(order::relaxed); i++) {
        if (frame* k = claim_any(w)) {
            stop_searching(w);
            begin_turn(w);
            run_claimed(w, w->first, k);
            return true;
        }
        if (task* t = root_of_any(w)) {
            stop_searching(w);
            begin_turn(w);
            run_root(w, t, w->first, true);
            return true;
        }
        pause();
    }
    w->patience = w->patience / 2 > least_rounds ? w->patience / 2 : least_rounds;
    return false;
}

void sleep(worker* w) noexcept {
    flush_outputs(); // before the worker counts as asleep: a full pipe may keep it
    bool searched = w->searcher;
    w->searcher = false;
#ifdef EVE_MUTATE_SLEEP
    bool found = anything();
    the_crew.idle.enter(w->id, searched);
#else
    the_crew.idle.enter(w->id, searched);
    for (int i = 0; i < the_crew.count; i++)
        if (i != w->id)
            ask(&the_crew.workers[i]); // the next one that forks is to publish, and then calls
    bool found = anything();
#endif
    if (!found) {
        if (the_crew.idle.count() == the_crew.count && the_crew.armed.load(order::seq_cst) == 0)
            stop_all();
        if (!the_crew.stopping.load(order::seq_cst)) w->io->wait(-1);
    }
    w->searcher = the_crew.idle.leave(w->id);
}

// Handles events, unless that was just done. Whether there were any.
bool look_at_poller(worker* w, bool always) noexcept {
    u64 now = ticks();
    if (!always && now - w->polled < poll_ticks) return false;
    w->polled = now;
    begin_turn(w);
    return w->io->poll();
}

} // namespace

void call_worker() noexcept {
    int id = the_crew.idle.call();
    if (id >= 0) the_crew.workers[id].io->wake();
}

void make_ready(task* t) noexcept {
    if (t->home) return t->home->ready(t);
    worker* w = self();
    if (!w) return push_from_outside(t);
    if (w->takes_hot && !w->hot) {
        w->hot = t;
        return;
    }
    push_ready(w, t);
}

bool help(worker* w, frame* top, int thief, bool roots) noexcept {
    if (w->depth >= 2 * depth_most) return false;
    frame* k = thief >= 0 ? claim(&the_crew.workers[thief]) : nullptr;
    bool may = w->depth < depth_most;
    if (!k && may) k = claim_any(w);
    task* t = !k && may && roots ? root_of_any(w) : nullptr;
    if (!k && !t) return false;
    w->depth++;
    if (k) run_claimed(w, top, k);
    else run_root(w, t, top, false);
    w->depth--;
    return true;
}

void work(worker* w) noexcept {
    while (!the_crew.stopping.load(order::relaxed)) {
        if (w->searcher && search(w)) continue;
        if (w->searcher) { // called, but too late
            w->searcher = false;
            the_crew.idle.end_search();
        }
        if (task* t = next_task(w)) {
            begin_turn(w);
            run_root(w, t, w->first, true);
            look_at_poller(w, false);
            continue;
        }
        if (look_at_poller(w, true) || search(w)) continue;
        sleep(w);
    }
}

void stop_all() noexcept {
    the_crew.stopping.store(1, order::seq_cst);
    for (int i = 0; i < the_crew.count; i++) the_crew.workers[i].io->wake();
}

void arm() noexcept { the_crew.armed.fetch_add(1, order::seq_cst); }
void disarm() noexcept { the_crew.armed.fetch_sub(1, order::seq_cst); }

int worker_count() noexcept { return the_crew.count; }
worker* worker_at(int i) noexcept { return &the_crew.workers[i]; }

bool cancelled() noexcept {
    worker* w = self();
    if (!w) return false;
    if (w->within && w->within->failed()) return true;
    if (sibling_failed(w)) return true;
    return w->stolen && (w->stolen->state.load(order::relaxed) & frame::cancel);
}

} // namespace eve

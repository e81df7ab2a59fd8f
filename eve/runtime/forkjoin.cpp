#include "forkjoin.hpp"
#include "crew.hpp"
#include "threads.hpp"
#include <exception>

// The mutations are for the tests, which must notice each of them.
#ifdef EVE_MUTATE_PUBLISH
static constexpr eve::order publish = eve::order::relaxed;
#else
static constexpr eve::order publish = eve::order::seq_cst;
#endif
#ifdef EVE_MUTATE_TAKE
static constexpr bool take_by_cas = false;
#else
static constexpr bool take_by_cas = true;
#endif

namespace eve {
namespace {

constexpr u64 pack(u64 tail, u64 split) { return tail << 32 | split; }
constexpr u64 tail_of(u64 open) { return open >> 32; }
constexpr u64 split_of(u64 open) { return open & 0xFFFFFFFF; }

constexpr u32 patience = 64;   // turns of waiting before roots are run too; a guess
constexpr u32 restless = 4096; // turns before the thread sleeps, about 100 us; a guess
constexpr i64 nap_us = 2000;   // it then looks for work again

u64 rich_from(frame* split) { return reinterpret_cast<u64>(split + rich_frames); }

// A request to publish more must not get lost, so only a thief sets `hungry` and only
// share clears it.
void set_split(worker* w, frame* s) noexcept {
    w->split = s;
    u64 seen = w->mark.load(order::relaxed);
    while (seen != hungry) {
        u64 next = rich_from(s) | (seen & attention);
        if (w->mark.compare_exchange(seen, next, order::relaxed, order::relaxed)) return;
    }
}

// After `attention` was cleared. The watchdog says first that the time is over and then sets the
// bit, so that one of the two sets it last.
void keep_attention(worker* w) noexcept {
    if (w->overtime.load(order::seq_cst)) w->mark.fetch_or(attention, order::seq_cst);
}

bool running(u64 state) { return state >= frame::thief && state < frame::small; }
int thief_of(u64 state) {
    return running(state) ? int((state & (frame::parked - 1)) - frame::thief) : -1;
}
bool ended(u64 state) { return state == frame::done || state == frame::failure_kept; }

// Whether a child before k has failed on a thief. It has the same root, and k is its younger
// sibling or belongs to one, so nobody wants what k does.
bool failed_before(const worker* w, const frame* k) noexcept {
    for (const frame* f = w->floor; f < k; f++)
        if (f->failed()) return true;
    return false;
}

// Tells the thieves of these frames that nobody wants the results.
void cancel_running(frame* from, frame* to) noexcept {
    for (frame* k = from; k < to; k++) {
        u64 state = k->state.load(order::relaxed);
        while (running(state) && !(state & frame::cancel))
            if (k->state.compare_exchange(state, state | frame::cancel, order::relaxed,
                                          order::relaxed))
                break;
    }
}

void nap(frame* k, u64 state) noexcept {
    if (!running(state)) return;
    if (!(state & frame::parked) &&
        !k->state.compare_exchange(state, state | frame::parked, order::relaxed, order::relaxed))
        return;
    wait_at(&k->state, u32(state | frame::parked), nap_us);
}

// Helps until a thief has run k to its end.
void wait_for(worker* w, frame* k) noexcept {
    spinning s;
    for (;;) {
        u64 state = k->state.load(order::acquire);
        if (ended(state)) return;
        if (!(state & frame::cancel) && failed_before(w, k)) cancel_running(k, k + 1);
        if (help(w, k + 1, thief_of(state), s.turns() > patience)) s = spinning();
        else if (s.turns() < restless) s.turn();
        else nap(k, state);
    }
}

std::exception_ptr take_failure(frame* k) noexcept {
    auto& kept = k->as<std::exception_ptr>();
    std::exception_ptr failure = static_cast<std::exception_ptr&&>(kept);
    kept.~exception_ptr();
    k->state.store(frame::done, order::relaxed);
    return failure;
}

} // namespace

void share(worker* w, frame* top) noexcept {
    i64 own = top - w->split;
    if (own <= 0) return;
    u64 until = u64(w->split - w->first) + u64(own + 1) / 2;
    u64 seen = w->open.load(order::relaxed);
    while (!w->open.compare_exchange(seen, pack(tail_of(seen), until), publish, order::relaxed)) {}
    w->split = w->first + until;
    w->mark.exchange(rich_from(w->split), order::seq_cst); // before the look at who sleeps
    keep_attention(w);
    call_worker();
}

void attend_now(worker* w, frame* top, const site* at) {
    u64 seen = w->mark.load(order::relaxed);
    if (seen == hungry) share(w, top);
    else if (w->mark.compare_exchange(seen, seen & ~attention, order::seq_cst, order::relaxed))
        keep_attention(w);
    pulse(w, at);
}

bool take_back(worker* w, frame* k) noexcept {
    u64 at = u64(k - w->first);
    u64 seen = w->open.load(order::relaxed);
    while (tail_of(seen) <= at) {
        u64 split = tail_of(seen) + (at - tail_of(seen)) / 2; // the newer half is private again
        if (!take_by_cas) w->open.store(pack(tail_of(seen), split), order::release);
        else if (!w->open.compare_exchange(seen, pack(tail_of(seen), split), order::acq_rel,
                                           order::relaxed))
            continue;
        set_split(w, w->first + split);
        return true;
    }
    wait_for(w, k);
    // All frames up to k are stolen and done, so nothing is public and no thief can get in.
    w->open.store(pack(at, at), order::relaxed);
    set_split(w, k);
    return false;
}

bool sibling_failed(const worker* w) noexcept {
    return failed_before(w, w->first + tail_of(w->open.load(order::relaxed)));
}

void ask(worker* of) noexcept {
    if (of->mark.load(order::relaxed) != hungry) of->mark.store(hungry, order::seq_cst);
}

frame* claim(worker* from) noexcept {
    u64 seen = from->open.load(order::acquire);
    u64 tail = tail_of(seen), split = split_of(seen);
    if (tail >= split) {
        ask(from);
        return nullptr;
    }
    if (!from->open.compare_exchange(seen, pack(tail + 1, split), order::acq_rel, order::relaxed))
        return nullptr;
    if (tail + 1 == split)
        ask(from); // that was the last one; the next thief should not have to wait
    return from->first + tail;
}

void run_claimed(worker* w, frame* top, frame* k) noexcept {
    auto run = reinterpret_cast<thunk>(k->state.load(order::relaxed));
    k->state.store(frame::thief + u64(w->id), order::relaxed);
    frame *floor = w->floor, *stolen = w->stolen;
    scope* within = w->within;
    w->floor = top;
    w->stolen = k;
    w->within = nullptr;
    u64 result = frame::done;
    try {
        run(w, top, k);
    } catch (...) {
        new (place{k->data}) std::exception_ptr(std::current_exception());
        result = frame::failure_kept;
    }
    w->floor = floor;
    w->stolen = stolen;
    w->within = within;
    // From here on the frame is its owner's again.
    if (k->state.exchange(result, order::acq_rel) & frame::parked) wake_at(&k->state, 1);
}

void hole(worker*, frame*, frame*) {}

void rethrow(frame* k) { std::rethrow_exception(take_failure(k)); }

void join_all(worker* w, frame* from, frame* to) {
    std::exception_ptr first;
    while (to > from) {
        to--;
        bool had = bool(first);
        if (take(w, to)) {
            if (had) continue;
            try {
                run_own(w, to);
            } catch (...) {
                first = std::current_exception();
            }
        } else if (to->failed()) {
            std::exception_ptr failure = take_failure(to);
            if (!had) first = static_cast<std::exception_ptr&&>(failure);
        }
        if (first && !had) cancel_running(from, to);
    }
    if (first) std::rethrow_exception(first);
}

void abandon(worker* w, frame* from, frame* to) noexcept {
    cancel_running(from, to);
    while (to > from)
        if (!take(w, --to) && to->failed()) take_failure(to);
}

} // namespace eve

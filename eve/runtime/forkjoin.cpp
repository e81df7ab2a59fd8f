#include "forkjoin.hpp"
#include "scheduler.hpp"
#include "threads.hpp"
#include <exception>

// Each mutation is an error that the tests must find.
#ifdef EVE_MUTATE_PUBLISH
static constexpr eve::order publish_order = eve::order::relaxed;
#else
static constexpr eve::order publish_order = eve::order::seq_cst;
#endif
#ifdef EVE_MUTATE_TAKE
static constexpr bool pop_by_cas = false;
#else
static constexpr bool pop_by_cas = true;
#endif

namespace eve {
namespace {

constexpr u64 pack(u64 tail, u64 split) { return tail << 32 | split; }
constexpr u64 tail_of(u64 open) { return open >> 32; }
constexpr u64 split_of(u64 open) { return open & 0xFFFFFFFF; }

constexpr u32 spins_before_roots = 64;  // spins before roots are run too; a guess
constexpr u32 spins_before_park = 4096; // spins before the thread sleeps, about 100 us; a guess
constexpr i64 park_us = 2000;           // it then looks for work again

u64 enough_from(frame* split) { return reinterpret_cast<u64>(split + enough_frames); }

// A steal request must not get lost: only a thief sets it and only publish_frames clears it.
void set_split(worker* w, frame* s) noexcept {
    w->split = s;
    u64 seen = w->mark.load(order::relaxed);
    while (seen != steal_requested) {
        u64 next = enough_from(s) | (seen & check_bit);
        if (w->mark.compare_exchange(seen, next, order::relaxed, order::relaxed)) return;
    }
}

// After `check_bit` was cleared. The watchdog first sets `overtime` and then the bit, so one of
// the two threads sets the bit last.
void keep_check_bit(worker* w) noexcept {
    if (w->overtime.load(order::seq_cst)) w->mark.fetch_or(check_bit, order::seq_cst);
}

bool running(u64 state) { return state >= frame::thief && state < frame::small; }
int thief_of(u64 state) {
    return running(state) ? int((state & (frame::parked - 1)) - frame::thief) : -1;
}
bool ended(u64 state) { return state == frame::done || state == frame::failure_kept; }

// Whether a child before k has failed on a thief. That child has the same root, and k is a younger
// sibling or belongs to one, so the result of k is not wanted.
bool failed_before(const worker* w, const frame* k) noexcept {
    for (const frame* f = w->floor; f < k; f++)
        if (f->failed()) return true;
    return false;
}

// Tells the thieves of these frames that their results are not wanted.
void cancel_running(frame* from, frame* to) noexcept {
    for (frame* k = from; k < to; k++) {
        u64 state = k->state.load(order::relaxed);
        while (running(state) && !(state & frame::cancel))
            if (k->state.compare_exchange(state, state | frame::cancel, order::relaxed,
                                          order::relaxed))
                break;
    }
}

void park(frame* k, u64 state) noexcept {
    if (!running(state)) return;
    if (!(state & frame::parked) &&
        !k->state.compare_exchange(state, state | frame::parked, order::relaxed, order::relaxed))
        return;
    wait_at(&k->state, u32(state | frame::parked), park_us);
}

// Runs other work until a thief has finished k.
void wait_for(worker* w, frame* k) noexcept {
    spinning s;
    for (;;) {
        u64 state = k->state.load(order::acquire);
        if (ended(state)) return;
        if (!(state & frame::cancel) && failed_before(w, k)) cancel_running(k, k + 1);
        if (help(w, k + 1, thief_of(state), s.turns() > spins_before_roots)) s = spinning();
        else if (s.turns() < spins_before_park) s.turn();
        else park(k, state);
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

void publish_frames(worker* w, frame* top) noexcept {
    i64 own = top - w->split;
    if (own <= 0) return;
    u64 until = u64(w->split - w->first) + u64(own + 1) / 2;
    u64 seen = w->open.load(order::relaxed);
    while (!w->open.compare_exchange(seen, pack(tail_of(seen), until), publish_order,
                                     order::relaxed)) {}
    w->split = w->first + until;
    w->mark.exchange(enough_from(w->split),
                     order::seq_cst); // before the check for sleeping workers
    keep_check_bit(w);
    wake_worker();
}

void poll_and_check_now(worker* w, frame* top, const site* at) {
    u64 seen = w->mark.load(order::relaxed);
    if (seen == steal_requested) publish_frames(w, top);
    else if (w->mark.compare_exchange(seen, seen & ~check_bit, order::seq_cst, order::relaxed))
        keep_check_bit(w);
    check_budget(w, at);
}

bool pop_public(worker* w, frame* k) noexcept {
    u64 at = u64(k - w->first);
    u64 seen = w->open.load(order::relaxed);
    while (tail_of(seen) <= at) {
        // the newer half becomes private again
        u64 split = tail_of(seen) + (at - tail_of(seen)) / 2;
        if (!pop_by_cas) w->open.store(pack(tail_of(seen), split), order::release);
        else if (!w->open.compare_exchange(seen, pack(tail_of(seen), split), order::acq_rel,
                                           order::relaxed))
            continue;
        set_split(w, w->first + split);
        return true;
    }
    if (unlikely(recording.on)) record_join(w, thief_of(k->state.load(order::relaxed)));
    wait_for(w, k);
    if (unlikely(recording.on)) record(w, recorded::joined);
    // All frames up to k were stolen and are done. So no frame is public, and no thief can steal.
    w->open.store(pack(at, at), order::relaxed);
    set_split(w, k);
    return false;
}

bool sibling_failed(const worker* w) noexcept {
    return failed_before(w, w->first + tail_of(w->open.load(order::relaxed)));
}

void request_steal(worker* of) noexcept {
    if (of->mark.load(order::relaxed) != steal_requested)
        of->mark.store(steal_requested, order::seq_cst);
}

frame* steal(worker* from) noexcept {
    u64 seen = from->open.load(order::acquire);
    u64 tail = tail_of(seen), split = split_of(seen);
    if (tail >= split) {
        request_steal(from);
        return nullptr;
    }
    if (!from->open.compare_exchange(seen, pack(tail + 1, split), order::acq_rel, order::relaxed))
        return nullptr;
    if (tail + 1 == split)
        request_steal(from); // it was the last one; the next thief should not have to wait
    return from->first + tail;
}

void run_stolen(worker* w, frame* top, frame* k) noexcept {
    auto run = reinterpret_cast<thunk>(k->state.load(order::relaxed));
    if (unlikely(recording.on)) record_stolen(w, k, reinterpret_cast<u64>(run));
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
    if (unlikely(recording.on)) record(w, recorded::stolen_end);
    // From here on the owner may use the frame again.
    if (k->state.exchange(result, order::acq_rel) & frame::parked) wake_at(&k->state, 1);
}

void no_op(worker*, frame*, frame*) {}

void rethrow(frame* k) { std::rethrow_exception(take_failure(k)); }

void join_all(worker* w, frame* from, frame* to) {
    std::exception_ptr first;
    while (to > from) {
        to--;
        bool had = bool(first);
        if (pop(w, to)) {
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
        if (!pop(w, --to) && to->failed()) take_failure(to);
}

} // namespace eve

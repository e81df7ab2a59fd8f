// When the fake clock jumps, and to what timer.
#include "fake_time.hpp"
#include "scheduler.hpp"

namespace eve {

namespace {

constexpr u32 behind = 1u << 31; // the bit in the turn of a timer that comes last

} // namespace

void fake_clock::set(clock_timer& timer, poller& keeper, i64 at_ns) noexcept {
    locked l(guard_);
    timer.keeper = &keeper;
    timer.turn = (turn_++ & ~behind) | (timer.last ? behind : 0);
    timers_.set(timer, at_ns);
}

void fake_clock::cancel(clock_timer& timer) noexcept {
    locked l(guard_);
    timers_.cancel(timer);
}

// Whether no task can run, and nothing is under way that makes one run. Who arms, disarms and sends
// to a poller is awake, but for threads without a worker, and what they work for is armed. So if
// all workers have slept from before the look until after it, it is true at the end of the look.
//
// Each mutation is an error that the tests must find.
bool fake_clock::at_rest() noexcept {
    scheduler& s = the_scheduler;
    u64 state;
    if (!s.idle.all_asleep(s.count, state)) return false;
#ifdef EVE_MUTATE_JUMP_WOKEN
    for (int i = 0; i < 200; i++) (void)s.armed.load(order::seq_cst); // it is held up
#endif
#ifndef EVE_MUTATE_JUMP_PENDING
    if (s.armed.load(order::seq_cst) != waits_.load(order::relaxed)) return false;
#endif
#ifndef EVE_MUTATE_JUMP_SENT
    for (int i = 0; i < s.count; i++)
        if (!s.workers[i].io->quiet()) return false;
#endif
#ifdef EVE_MUTATE_JUMP_WOKEN
    return true;
#else
    return s.idle.same(state);
#endif
}

// All under the guard: the keeper that takes its timer is awake then, so nobody who comes behind it
// finds all asleep.
void fake_clock::jump() noexcept {
    poller* keeper;
    {
        locked l(guard_);
        if (due_ != nullptr || timers_.empty() || !at_rest()) return;
        if (timers_.next_ns() > now_ns()) now_.store(timers_.next_ns(), order::relaxed);
        keeper = due_ = timers_.first().keeper;
    }
    keeper->timer_due();
}

clock_timer* fake_clock::take(const poller& keeper) noexcept {
    locked l(guard_);
    if (due_ != &keeper) return nullptr;
    due_ = nullptr;
    if (timers_.empty() || timers_.first().keeper != &keeper) return nullptr;
    return timers_.due(now_ns());
}

void fake_clock::close() noexcept {
    timers_.clear();
    now_.store(0, order::relaxed);
    waits_.store(0, order::relaxed);
    turn_ = 0;
    due_ = nullptr;
}

} // namespace eve

#include "async.hpp"

#include "answer.hpp"
#include "loop.hpp"

#include <errno.h>

namespace eve {

// A timer of the loop that began the operation. The timer and the answer race to complete the
// operation, and the first one does. An answer on another worker is told to the loop by mail.
struct deadline final : clock_timer, channel {
    operation* what;
    bool (*late)(operation*);

    deadline(operation* o, bool (*then)(operation*)) noexcept
        : channel(kind::other), what(o), late(then) {
        home = &this_loop();
    }
    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}
    void expire(loop&, i64) override {
        if (late(what)) dropped();
    }
    void mailed(loop& on, u32) override {
        on.cancel(*this);
        dropped();
    }
    void dropped() noexcept override {
        what->drop();
        destroy(this);
    }
};

namespace {

struct sleeping_operation final : operation_for<void>, clock_timer {
    duration time;
    loop* home = nullptr;

    sleeping_operation(duration d, bool behind_others) noexcept : time(d) { last = behind_others; }
    void begin() override {
        home = &this_loop();
        visit me(*home);
        the_fake_clock.count(1);
        home->set(*this, program_ns() + (time > 0 ? time : 0));
    }
    void expire(loop&, i64) override {
        the_fake_clock.count(-1);
        done(nothing{});
        drop();
    }
    void cancel() noexcept override {
        home->cancel(*this);
        the_fake_clock.count(-1);
        disarm();
        drop();
    }
    void end() noexcept override { destroy(this); }
};

} // namespace

error no_answer() { return error(ECANCELED, string::literal("no answer")); }

struct awaited::watcher {
    watcher(answering<void>* to) noexcept : told(to) {}
    replier<void> told;
    watcher* next = nullptr;
};

awaited::watcher* awaited::settled(bool given_up) noexcept {
    return reinterpret_cast<watcher*>(given_up ? usize{1} : usize{2});
}

async<void> awaited::unwanted() {
    auto* what = create<answering<void>>();
    async<void> operation(what);
    auto* mine = create<watcher>(what);
    watcher* first = watchers_.load(order::acquire);
    while (first != settled(true) && first != settled(false)) {
        mine->next = first;
        if (watchers_.compare_exchange(first, mine, order::acq_rel, order::acquire))
            return operation;
    }
    if (first == settled(true)) mine->told();
    destroy(mine);
    return operation;
}

void awaited::settle(bool given_up) noexcept {
    watcher* w = watchers_.load(order::acquire);
    do {
        if (w == settled(true) || w == settled(false)) return;
    } while (!watchers_.compare_exchange(w, settled(given_up), order::acq_rel, order::acquire));
    while (w != nullptr) {
        watcher* next = w->next;
        if (given_up) w->told();
        destroy(w);
        w = next;
    }
}

async<void> never() {
    auto* what = create<answering<void>>();
    async<void> operation(what);
    replier<void> nobody(what);
    return operation;
}

error timed_out() { return error(ETIMEDOUT, string::literal("timeout")); }

// Inside: the time is not over before the operation has begun.
void begin_within(operation* what, deadline*& place, duration limit, bool (*late)(operation*)) {
    loop& here = this_loop();
    visit me(here);
    place = create<deadline>(what, late);
    here.set(*place, program_ns() + (limit > 0 ? limit : 0));
    what->begin();
}

void cancel_deadline(deadline* d) noexcept {
    if (d->home->inside()) d->mailed(*d->home, mail_done);
    else d->home->mail(*d, mail_done);
}

async<void> sleep(duration d) { return async<void>(create<sleeping_operation>(d, false)); }

async<void> sleep_last(duration d) { return async<void>(create<sleeping_operation>(d, true)); }

} // namespace eve

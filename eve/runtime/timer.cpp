#include "timer.hpp"

#include "failure.hpp"
#include "worker.hpp"

namespace eve {

const emitter_hooks timer::hooks = {nullptr, on_unhandled, on_ended, on_failed, nullptr};

timer::timer(i64 first_ns, duration interval) noexcept
    : emitter_base(&hooks), stoppable(kind::other), first_ns_(first_ns), interval_(interval) {}

timer::timer(timer&& fresh) noexcept
    : emitter_base(&hooks), stoppable(kind::other), clock_timer(), first_ns_(fresh.first_ns_),
      interval_(fresh.interval_) {}

ref<timer> timer::begin(duration first, duration interval) {
    auto t = make<timer>(timer(program_ns() + (first > 0 ? first : 0), interval));
    header* self = t.object();
    t->home = &this_loop();
    self->keep();
    arm();
    the_fake_clock.count(1);
    t->enter();
    self->keep();
    // In the order of the calls, before the clock can jump.
    if (unlikely(the_fake_clock.on())) the_fake_clock.set(*t, this_loop(), t->first_ns_);
    this_loop().start_later(*t);
    return t;
}

ref<timer> timer::every(duration interval) {
    duration least = interval > shortest_interval ? interval : shortest_interval;
    return begin(least, least);
}

ref<timer> timer::after(duration delay) { return begin(delay, 0); }

// Only inside of its loop, whose timers it joins. Another worker serves the loop at times.
void timer::start(loop&) {
    if (!home->inside()) {
        home->mail(*this, mail_start);
        return;
    }
    bool runs;
    {
        locked l(guard);
        runs = !stopped_;
    }
    if (runs && likely(!the_fake_clock.on())) home->set(*this, first_ns_);
    if (ending()) shut();
    header_of(*this)->drop();
}

void timer::expire(loop& on, i64 now_ns) {
    i64 ticks = 1;
    if (interval_ > 0) {
        ticks += (now_ns - at_ns) / interval_;
        on.set(*this, at_ns + ticks * interval_);
    }
    fired event{0, now(), 0};
    {
        locked l(guard);
        ticks_ += ticks;
        number_ += ticks;
        if (busy_ || stopped_) return;
        busy_ = true;
        event.count = ticks_;
        event.number = number_;
        ticks_ = 0;
    }
    on.take_in_hand(*this);
    fire(header_of(*this), key_of<fired>(), &event, emission_of<fired>::keep);
    on.put_down(*this);
}

bool timer::on_unhandled(emitter_base& e, event_key key, void* event) {
    on_ended(e, key, event);
    return true;
}

void timer::on_ended(emitter_base& e, event_key key, void*) {
    if (key != key_of<fired>()) return;
    auto& t = static_cast<timer&>(e);
    fired next{0, now(), 0};
    bool over;
    {
        locked l(t.guard);
        t.busy_ = false;
        over = t.over_;
        if (t.ticks_ > 0 && !t.stopped_) {
            t.busy_ = true;
            next.count = t.ticks_;
            next.number = t.number_;
            t.ticks_ = 0;
        }
    }
    if (next.count > 0) t.post(header_of(t), create<emission_of<fired>>(move(next)));
    else if (over) t.off();
    else if (t.interval_ == 0) t.shut();
}

bool timer::on_failed(emitter_base& e, const failure&) {
    static_cast<timer&>(e).stop();
    return false;
}

void timer::stop() noexcept {
    shut();
    off();
}

void timer::shut() noexcept {
    {
        locked l(guard);
        if (stopped_) return;
        stopped_ = true;
    }
    home->mail(*this, mail_retire);
}

void timer::mailed(loop& on, u32 what) {
    if (what & mail_start) start(on);
    if (!(what & mail_retire)) return;
    bool quiet;
    on.cancel(*this);
    leave();
    {
        locked l(guard);
        over_ = true;
        quiet = !busy_;
    }
    if (quiet) off(); // its handlers may hold a handle to it
    the_fake_clock.count(-1);
    disarm();
    header_of(*this)->drop();
}

} // namespace eve

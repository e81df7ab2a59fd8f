// The clock of a socket. Its timer is one of the socket's loop, which alone touches it. The rest is
// under the guard.
#include "socket.hpp"

namespace eve {

// The loop hears of it by mail: the caller may be another worker, or in the middle of a body.
void socket::every(duration interval) noexcept {
    bool tells;
    {
        locked l(guard);
        if (closing_ || closed_ || fd < 0) return;
        interval_ = interval > shortest_interval ? interval : interval > 0 ? shortest_interval : 0;
        winding_ = (winding_ + 1) & most_winding;
        number_ = missed_ = 0;
        tells = started_ && !wound_;
        wound_ = true;
    }
    if (tells) home->mail(*this, mail_clock);
}

// Inside. The time of the clock begins now.
void socket::wind(loop& on) noexcept {
    locked l(guard);
    wound_ = false;
    if (closed_) return; // the timer may be that of lingering
    if (interval_ == 0) on.cancel(*this);
    else on.set(*this, monotonic_ns() + interval_);
}

void socket::expire(loop& on, i64 now_ns) {
    fired event{};
    bool lingers;
    {
        locked l(guard);
        lingers = lingering_;
        if (!lingers) {
            if (wound_ || interval_ == 0 || closing_) return;
            i64 ticks = 1 + (now_ns - at_ns) / interval_;
            on.set(*this, at_ns + ticks * interval_);
            number_ += ticks;
            missed_ += static_cast<u32>(ticks);
            if (ticking_) return;
            event = take_ticks();
        }
    }
    if (lingers) {
        retire(on);
        return;
    }
    on.take_in_hand(*this);
    fire(header_of(*this), key_of<fired>(), &event, emission_of<fired>::keep);
    on.put_down(*this);
}

// Under the guard.
fired socket::take_ticks() noexcept {
    fired event{missed_, now(), number_, winding_};
    ticking_ = true;
    missed_ = 0;
    return event;
}

// The handlers of a tick have run. Ticks that came meanwhile are one event.
void socket::ticked() noexcept {
    fired event{};
    {
        locked l(guard);
        ticking_ = false;
        if (missed_ == 0 || closing_) return;
        event = take_ticks();
    }
    post(header_of(*this), create<emission_of<fired>>(move(event)));
}

// Ticks of a clock that has been set anew since, or of a socket that closes.
bool socket::is_void(emitter_base& e, event_key key, const void* event) {
    if (key != key_of<fired>()) return false;
    auto& s = static_cast<socket&>(e);
    locked l(s.guard);
    return s.closing_ || static_cast<const fired*>(event)->winding != s.winding_;
}

} // namespace eve

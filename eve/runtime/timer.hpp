#pragma once
// Timers: timer.every and timer.after of std/prelude.eve. Ticks that come while a handler is under
// way are counted, and the next event reports them.
#include "emitter.hpp"
#include "fired.hpp"
#include "loop.hpp"

namespace eve {

class timer final : public emitter_base, public stoppable, clock_timer {
public:
    static ref<timer> every(duration interval);
    static ref<timer> after(duration delay);

    timer(timer&& fresh) noexcept;
    // Under full permission.
    void stop() noexcept;

    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;
    header* shared() noexcept override { return header_of(*this); }

private:
    timer(i64 first_ns, duration interval) noexcept;
    static ref<timer> begin(duration first, duration interval);
    void expire(loop& on, i64 now_ns) override;
    static const emitter_hooks hooks;
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);

    i64 first_ns_;
    duration interval_; // 0: once
    i64 ticks_ = 0;     // not yet reported
    i64 number_ = 0;    // of all ticks
    bool busy_ = false; // its handler is under way
    bool stopped_ = false;
    bool over_ = false; // it will not fire again; its handlers are dropped
};

} // namespace eve

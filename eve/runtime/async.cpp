#include "async.hpp"

#include "loop.hpp"

#include <errno.h>

namespace eve {

namespace {

struct deadline final : alarm_node {
    operation* what;
    void (*late)(operation*);

    deadline(operation* o, void (*then)(operation*)) noexcept : what(o), late(then) {}
    void ring(loop&, i64) override
    {
        late(what);
        dropped();
    }
    void dropped() noexcept override
    {
        what->drop();
        destroy(this);
    }
};

struct sleeping_operation final : operation_for<void>, alarm_node {
    duration time;

    explicit sleeping_operation(duration d) noexcept : time(d) {}
    void begin() override { this_loop().set(*this, monotonic_ns() + (time > 0 ? time : 0)); }
    void ring(loop&, i64) override
    {
        done(nothing{});
        drop();
    }
    void cancel() noexcept override
    {
        this_loop().take_back(*this);
        disarm();
        drop();
    }
    void end() noexcept override { destroy(this); }
};

} // namespace

error timed_out()
{
    return error(ETIMEDOUT, string::literal("timeout"));
}

void set_deadline(operation* what, duration limit, void (*late)(operation*))
{
    this_loop().set(*create<deadline>(what, late), monotonic_ns() + (limit > 0 ? limit : 0));
}

async<void> sleep(duration d)
{
    return async<void>(create<sleeping_operation>(d));
}

} // namespace eve

#pragma once
// The process: std/process.eve.
#include "emitter.hpp"
#include "loop.hpp"
#include "vector.hpp"

namespace eve {

struct interrupt {};
struct terminate {};
struct reload {};

// Signals as events. One without a handler does what it does to any program.
class signal_source final : public emitter_base, public channel {
public:
    signal_source() noexcept;
    signal_source(signal_source&& fresh) noexcept;

    u8 wanted() const noexcept override { return io_in; }
    void ready(loop& on, u8 events) override;

private:
    static const emitter_hooks hooks;
    static void on_changed(emitter_base& e);
    static bool on_failed(emitter_base& e, const failure& f);
    void listen() noexcept;

    u32 caught_ = 0; // signals that it has taken over, by number. Under the guard
};

namespace process {

extern ref<signal_source> the_signals;

vector<string> args();
option<string> env(const string& name);
void shutdown(duration grace);
[[noreturn]] void exit(i64 status);
i64 workers();

} // namespace process

} // namespace eve

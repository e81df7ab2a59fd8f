#pragma once
// The process: std/process.eve.
#include "emitter.hpp"
#include "loop.hpp"
#include "vector.hpp"

namespace eve {

struct interrupt {};
struct terminate {};
struct reload {};

// Signals as events. A signal without a handler has its default action. All loops watch for
// signals: any free worker fires the event.
class signal_source final : public emitter_base {
public:
    signal_source() noexcept;
    signal_source(signal_source&& fresh) noexcept;
    ~signal_source();

private:
    struct watcher;
    static const emitter_hooks hooks;
    static void on_changed(emitter_base& e);
    static bool on_failed(emitter_base& e, const failure& f);
    void start_watching() noexcept;
    void dispatch(int pipe) noexcept;

    spin_lock guard_;
    watcher* watchers_ = nullptr; // one for each loop, from the first handler on. Under the guard
    u32 caught_ = 0;              // bits of the signals with handlers, by number. Under the guard
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

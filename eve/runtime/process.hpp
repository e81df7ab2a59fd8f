#pragma once
// The process: std/process.eve.
#include "async.hpp"
#include "child.hpp"
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

// What is left of another program that has ended. Any thread, all methods.
class finished {
public:
    finished() noexcept = default;
    finished(i64 status, string output, string errors) noexcept
        : status_(status), output_(move(output)), errors_(move(errors)) {}

    i64 status() const noexcept { return status_; }
    string output() const noexcept { return output_; }
    string errors() const noexcept { return errors_; }

    u64 hash_value() const noexcept {
        return hash_join(hash_join(hash_of(status_), hash_of(output_)), hash_of(errors_));
    }
    friend bool operator==(const finished& a, const finished& b) noexcept {
        return a.status_ == b.status_ && a.output_ == b.output_ && a.errors_ == b.errors_;
    }

private:
    i64 status_ = 0;
    string output_;
    string errors_;
};

namespace process {

extern ref<signal_source> the_signals;

vector<string> args();
option<string> env(const string& name);
void shutdown(duration grace);
[[noreturn]] void exit(i64 status);
i64 workers();
async<result<finished>> run(vector<string> words, const string& input, const string& directory,
                            vector<string> settings, i64 most);

} // namespace process

} // namespace eve

#include "process.hpp"

#include "fail.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "runtime.hpp"
#include "threads.hpp"
#include "worker.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace eve {

namespace {

struct known_signal {
    int number;
    event_key key;
};

const known_signal known[] = {
    {SIGINT, key_of<interrupt>()},
    {SIGTERM, key_of<terminate>()},
    {SIGHUP, key_of<reload>()},
};

// The state that the signal handler may touch.
atomic<u32> arrived;
atomic<int> signal_pipe{-1}; // its end to write

void on_signal(int number) {
    int saved = errno;
    arrived.fetch_or(1u << number, order::seq_cst);
    (void)!::write(signal_pipe.load(order::acquire), "", 1); // a full pipe wakes them as well
    errno = saved;
}

void set_action(int number, void (*action)(int)) noexcept {
    struct sigaction how {};
    how.sa_handler = action;
    how.sa_flags = SA_RESTART;
    sigaction(number, &how, nullptr);
}

// When process.shutdown ends the process in any case: the earliest deadline that was asked for.
atomic<i64> deadline_ns{i64(~0ull >> 1)};
atomic<u32> deadline_changes; // number of changes of deadline_ns
atomic<u32> deadline_thread;

void* wait_for_deadline(void*) {
    for (;;) {
        u32 seen = deadline_changes.load(order::acquire);
        i64 left_ns = deadline_ns.load(order::acquire) - monotonic_ns();
        if (left_ns <= 0) {
            hurry_outputs();
            end_process(0);
        }
        wait_on(deadline_changes, seen, left_ns / 1000 + 1);
    }
}

// A thread of its own waits for the deadline, since all workers may be busy then. Signals are for
// the workers' threads.
void end_at(i64 at_ns) noexcept {
    i64 was = deadline_ns.load(order::relaxed);
    while (at_ns < was &&
           !deadline_ns.compare_exchange(was, at_ns, order::release, order::relaxed)) {}
    deadline_changes.fetch_add(1, order::release);
    wake_on(deadline_changes, 1);
    if (deadline_thread.exchange(1, order::relaxed) != 0) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, wait_for_deadline, nullptr) != 0)
        die("no thread for the end of the process");
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The end of the grace in fake time, when no worker is busy. It is not armed.
struct fake_end final : clock_timer {
    void expire(loop&, i64) override {
        hurry_outputs();
        end_process(0);
    }
    void dropped() noexcept override { destroy(this); }
};

} // namespace

const emitter_hooks signal_source::hooks = {on_changed, nullptr, nullptr, on_failed, nullptr};

// A loop's channel on the pipe of the signals, which all loops share.
struct signal_source::watcher final : channel {
    signal_source& of;
    watcher* next;

    watcher(signal_source& s, int shared, loop& at, watcher* before) noexcept
        : channel(kind::other), of(s), next(before) {
        fd = shared;
        home = &at;
        locked l(guard);
        home->update(*this);
    }
    u8 wanted() const noexcept override { return io_in; }
    void ready(loop&, u8) override {
        of.dispatch(fd);
        locked l(guard);
        home->update(*this);
    }
};

signal_source::signal_source() noexcept : emitter_base(&hooks) {}

signal_source::signal_source(signal_source&&) noexcept : emitter_base(&hooks) {}

signal_source::~signal_source() {
    while (watcher* e = watchers_) {
        watchers_ = e->next;
        destroy(e);
    }
}

// At the first handler: from here on the loops watch the pipe.
void signal_source::start_watching() noexcept {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) die("no descriptor for signals");
    signal_pipe.store(ends[1], order::release);
    for (int i = 0; i < worker_count(); i++)
        watchers_ =
            create<watcher>(*this, ends[0], *static_cast<loop*>(worker_at(i)->io), watchers_);
}

void signal_source::on_changed(emitter_base& e) {
    auto& s = static_cast<signal_source&>(e);
    u32 wanted = 0;
    for (const known_signal& k : known) wanted |= s.handles(k.key) ? 1u << k.number : 0;
    locked l(s.guard_);
    if (wanted != 0 && s.watchers_ == nullptr) s.start_watching();
    for (const known_signal& k : known) {
        u32 bit = 1u << k.number;
        if ((wanted & bit) != (s.caught_ & bit))
            set_action(k.number, wanted & bit ? on_signal : SIG_DFL);
    }
    s.caught_ = wanted;
}

// Runs on one of the loops that the pipe has woken. Fires the events of the signals that have
// arrived.
void signal_source::dispatch(int pipe) noexcept {
    char some[64];
    while (::read(pipe, some, sizeof some) == ssize_t(sizeof some)) {}
    u32 which = eve::arrived.exchange(0, order::seq_cst);
    header* self = header_of(*this);
    if (which & 1u << SIGINT) {
        interrupt event;
        fire(self, key_of<interrupt>(), &event, emission_of<interrupt>::keep);
    }
    if (which & 1u << SIGTERM) {
        terminate event;
        fire(self, key_of<terminate>(), &event, emission_of<terminate>::keep);
    }
    if (which & 1u << SIGHUP) {
        reload event;
        fire(self, key_of<reload>(), &event, emission_of<reload>::keep);
    }
}

// The source cannot be closed. Its signals have their default action again.
bool signal_source::on_failed(emitter_base& e, const failure&) {
    e.off();
    return false;
}

namespace process {

ref<signal_source> the_signals = make<signal_source>(signal_source());

vector<string> args() {
    vector<string> all;
    for (int i = 1; i < argument_count(); i++)
        all.push(string(arguments()[i], static_cast<i64>(strlen(arguments()[i]))));
    return all;
}

option<string> env(const string& name) {
    string ended = name + string("\0", 1);
    const char* value = getenv(ended.data());
    if (value == nullptr) return none;
    return string(value, static_cast<i64>(strlen(value)));
}

void shutdown(duration grace) {
    if (grace < 0) grace = 0;
    if (unlikely(the_fake_clock.on()))
        the_fake_clock.set(*create<fake_end>(), this_loop(), program_ns() + grace);
    else end_at(monotonic_ns() + grace);
    stoppable::shut_all();
}

void exit(i64 status) { end_process(static_cast<int>(status & 0xff)); }

i64 workers() { return worker_count(); }

} // namespace process

} // namespace eve

#include "process.hpp"

#include "failure.hpp"
#include "runtime.hpp"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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

// What the handler of signals may touch.
atomic<u32> arrived;
atomic<int> bell{-1};

void note(int number)
{
    int saved = errno;
    u64 one = 1;
    arrived.fetch_or(1u << number, order::seq_cst);
    (void)!::write(bell.load(order::acquire), &one, sizeof one);
    errno = saved;
}

void set_action(int number, void (*action)(int)) noexcept
{
    struct sigaction how{};
    how.sa_handler = action;
    how.sa_flags = SA_RESTART;
    sigaction(number, &how, nullptr);
}

struct last_moment final : alarm_node {
    void ring(loop&, i64) override { end_process(0); }
    void dropped() noexcept override { destroy(this); }
};

} // namespace

const emitter_hooks signal_source::hooks = {on_changed, nullptr, nullptr, on_failed, nullptr};

signal_source::signal_source() noexcept : emitter_base(&hooks), channel(kind::other) {}

signal_source::signal_source(signal_source&&) noexcept : emitter_base(&hooks), channel(kind::other) {}

// The first handler of all: from here on some loop looks out for the bell.
void signal_source::listen() noexcept
{
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        die("no descriptor for signals");
    bell.store(fd, order::release);
    home = &this_loop();
    home->update(*this);
}

void signal_source::on_changed(emitter_base& e)
{
    auto& s = static_cast<signal_source&>(e);
    u32 wanted = 0;
    for (const known_signal& k : known)
        wanted |= s.handles(k.key) ? 1u << k.number : 0;
    locked l(s.guard);
    if (wanted != 0 && s.fd < 0)
        s.listen();
    for (const known_signal& k : known) {
        u32 bit = 1u << k.number;
        if ((wanted & bit) != (s.caught_ & bit))
            set_action(k.number, wanted & bit ? note : SIG_DFL);
    }
    s.caught_ = wanted;
}

void signal_source::ready(loop&, u8)
{
    u64 count;
    (void)!::read(fd, &count, sizeof count);
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
    locked l(guard);
    home->update(*this);
}

// The source cannot be closed: its signals do again what they do to any program.
bool signal_source::on_failed(emitter_base& e, const failure&)
{
    e.off();
    return false;
}

namespace process {

ref<signal_source> the_signals = make<signal_source>(signal_source());

vector<string> args()
{
    vector<string> all;
    for (int i = 1; i < argument_count(); i++)
        all.push(string(arguments()[i], static_cast<i64>(strlen(arguments()[i]))));
    return all;
}

option<string> env(const string& name)
{
    string ended = name + string("\0", 1);
    const char* value = getenv(ended.data());
    if (value == nullptr)
        return none;
    return string(value, static_cast<i64>(strlen(value)));
}

void shutdown(duration grace)
{
    this_loop().set(*create<last_moment>(), monotonic_ns() + (grace > 0 ? grace : 0));
    stoppable::shut_all();
}

void exit(i64 status)
{
    end_process(static_cast<int>(status & 0xff));
}

i64 workers()
{
    return worker_count();
}

} // namespace process

} // namespace eve

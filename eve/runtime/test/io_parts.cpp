// The parts of io that need no server, one for each name that the driver passes.
#include "io_check.hpp"

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace {

void busy_for(eve::i64 ms) {
    eve::i64 until = eve::monotonic_ns() + ms * 1'000'000;
    while (eve::monotonic_ns() < until) {}
}

constexpr eve::i64 tick_ns = 10'000'000;

// timer: the handler is slower than the interval, so ticks are counted together: two or more in
// each event, and no more than time has passed.
struct on_tick {
    eve::i64 since_ns;
    eve::ref<eve::i64> runs;
    eve::ref<eve::i64> ticks;
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::timer>& t, eve::fired& f) {
        *runs += 1;
        *ticks += f.count;
        busy_for(25);
        if (*runs == 5) {
            eve::i64 most = (eve::monotonic_ns() - since_ns) / tick_ns;
            io_check::say("runs %ld, ticks %s", *runs,
                          *ticks >= 8 && *ticks <= most ? "more" : "wrong");
            t->stop();
        }
    }
};

void start_timer() {
    auto runs = eve::make<eve::i64>(0);
    auto ticks = eve::make<eve::i64>(0);
    eve::i64 since_ns = eve::monotonic_ns();
    auto t = eve::timer::every(tick_ns);
    eve::on<eve::fired>(t, on_tick{since_ns, runs, ticks}, eve::hold::write, true, eve::write(runs),
                        eve::write(ticks));
}

struct on_once {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::timer>&, eve::fired& f) {
        io_check::say("once %ld", f.count);
    }
};

void start_after() {
    eve::on<eve::fired>(eve::timer::after(20'000'000), on_once{}, eve::hold::write, true);
}

// sleep: the order of the times, and one that takes too long for its awaiter. The times lie far
// apart: a busy machine may stop the process between two lines.
struct slept {
    int n;
    void operator()(eve::worker*, eve::frame*) { io_check::say("slept %d", n); }
};

struct slept_within {
    const char* name;
    void operator()(eve::worker*, eve::frame*, eve::result<void>& r) {
        io_check::say("%s %s", name,
                      r.ok()                                              ? "in time"
                      : r.why().text() == eve::string::literal("timeout") ? "late"
                                                                          : "wrong");
    }
};

void start_sleep() {
    eve::await(eve::sleep(600'000'000), slept{3}, false);
    eve::await(eve::sleep(0), slept{1}, false);
    eve::await(eve::sleep(30'000'000), slept{2}, false);
    eve::await_within(eve::sleep(700'000'000), 90'000'000, slept_within{"long"}, false);
    eve::await_within(eve::sleep(120'000'000), 200'000'000, slept_within{"short"}, false);
}

// emit: an emitter of the user's: order, consumption, off, and handlers that are registered later.
struct done {
    eve::i64 n;
};
struct job : eve::emitter_base {
    eve::i64 seen = 0;
};

struct on_done {
    char name;
    bool consume;
    bool operator()(eve::worker*, eve::frame*, eve::ref<job>& j, done& d) {
        j->seen++;
        io_check::say("%c%ld", name, d.n);
        if (d.n == 3) j->off();
        return consume;
    }
};

struct emitting {
    eve::ref<job> j;
    void operator()(eve::worker*, eve::frame*) {
        for (eve::i64 n = 1; n <= 4; n++) eve::emit<done>(*j, done{n});
        io_check::say("emitted");
    }
};

void start_emit() {
    auto j = eve::make<job>(job{});
    eve::on<done>(j, on_done{'a', false}, eve::hold::write, true);
    eve::on<done>(j, on_done{'b', true}, eve::hold::write, true);
    eve::on<done>(j, on_done{'c', true}, eve::hold::write, true);
    eve::spawn(emitting{j}, eve::write(j));
}

// stdin: lines, then the end.
struct on_line {
    eve::ref<eve::i64> count;
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::input>&, eve::line& l) {
        *count += 1;
        if (*count <= 3) io_check::say("line %.*s", static_cast<int>(l.text.size()), l.text.data());
    }
};

struct on_end {
    eve::ref<eve::i64> count;
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::input>&, eve::close&) {
        io_check::say("lines %ld", *count);
    }
};

void start_stdin() {
    auto count = eve::make<eve::i64>(0);
    eve::on<eve::line>(eve::the_stdin, on_line{count}, eve::hold::write, true, eve::write(count));
    eve::on<eve::close>(eve::the_stdin, on_end{count}, eve::hold::write, true, eve::read(count));
}

// connect: to a running server, to a port without a listener, and to an invalid name.
struct on_echoed {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::socket>& s, eve::data&) {
        eve::bytes got = s->read_buffer();
        io_check::say("echoed %.*s", static_cast<int>(got.size()),
                      reinterpret_cast<const char*>(got.data()));
        s->close();
    }
};

struct connected {
    const char* name;
    void operator()(eve::worker*, eve::frame*, eve::result<eve::ref<eve::socket>>& r) {
        if (!r.ok()) {
            eve::string why = r.why().text();
            io_check::say("%s: %.*s", name, static_cast<int>(why.size()), why.data());
            return;
        }
        eve::on<eve::data>(*r, on_echoed{}, eve::hold::write, true);
        eve::spawn([s = *r](eve::worker*, eve::frame*) { s->write(eve::string::literal("ping")); },
                   eve::write(*r));
    }
};

void start_connect() {
    using eve::tcp_socket;
    eve::await(tcp_socket::connect(eve::string::literal("localhost"), io_check::argument(1, 0)),
               connected{"there"}, false);
    eve::await(tcp_socket::connect(eve::string::literal("127.0.0.1"), 1), connected{"refused"},
               false);
    eve::await(tcp_socket::connect(eve::string::literal("no.such.host.invalid"), 1),
               connected{"nobody"}, false);
}

// hang: a connection that nobody answers, cancelled after a while: the process does not wait for
// the kernel's timeout.
struct given_up {
    void operator()(eve::worker*, eve::frame*, eve::result<eve::ref<eve::socket>>& r) {
        io_check::say("%s", r.ok()                                              ? "connected"
                            : r.why().text() == eve::string::literal("timeout") ? "gave up"
                                                                                : "failed");
    }
};

void start_hang() {
    eve::await_within(
        eve::tcp_socket::connect(eve::string::literal("127.0.0.1"), io_check::argument(1, 0)),
        100'000'000, given_up{}, false);
}

// lookup: names whose servers do not answer. There are more of them than the pool usually has
// threads. Another call is made all the same, and the process ends although they hang.
void start_lookup() {
    for (int i = 0; i < 8; i++)
        eve::await_within(eve::tcp_socket::connect(eve::string::literal("hangs.invalid"), 1),
                          50'000'000, given_up{}, false);
    eve::await(
        eve::slow<eve::i64>([] { return eve::i64{7}; }),
        [](eve::worker*, eve::frame*, eve::i64& n) { io_check::say("called %ld", n); }, false);
}

// signal: the first interrupt is handled; then the handler is dropped, so the second one
// ends the process.
struct on_interrupt {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::signal_source>& s, eve::interrupt&) {
        s->off();
        io_check::say("interrupted");
    }
};

void start_signal() {
    eve::on<eve::interrupt>(eve::process::the_signals, on_interrupt{}, eve::hold::write, true);
    eve::on<eve::fired>(eve::timer::after(20'000'000'000), on_once{}, eve::hold::write, true);
    io_check::say("ready");
}

// fail: a handler that damages more than its emitter ends the process with a trace.
struct on_fail {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::timer>&, eve::fired&) {
        eve::fail("part.eve", 7, eve::string::literal("broken"));
    }
};

void start_fail() {
    eve::on<eve::fired>(eve::timer::every(5'000'000), on_fail{}, eve::hold::write, false);
}

void start(eve::worker*, eve::frame*) {
    struct part {
        const char* name;
        void (*begin)();
    };
    const part parts[] = {{"timer", start_timer}, {"after", start_after},
                          {"sleep", start_sleep}, {"emit", start_emit},
                          {"stdin", start_stdin}, {"connect", start_connect},
                          {"hang", start_hang},   {"signal", start_signal},
                          {"fail", start_fail},   {"lookup", start_lookup}};
    eve::string wanted = eve::process::args()[0];
    for (const part& p : parts) {
        if (wanted == eve::string(p.name, static_cast<eve::i64>(strlen(p.name)))) p.begin();
    }
}

} // namespace

// In place of the C library's: one name is never found.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    while (strcmp(name, "hangs.invalid") == 0) pause();
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    return reinterpret_cast<function>(dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
}

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

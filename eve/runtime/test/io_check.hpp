#pragma once
// Helpers of the servers under test, which report to their driver on standard output.
#include "eve.hpp"

#include <stdarg.h>
#include <stdio.h>

namespace io_check {

// say prints a line, which no other worker's line comes into.
[[gnu::format(printf, 1, 2)]] inline void say(const char* format, ...) {
    va_list args;
    va_start(args, format);
    flockfile(stdout);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    funlockfile(stdout);
    va_end(args);
}

struct say_port {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::tcp_socket>&, eve::listening& l) {
        say("port %ld", l.port);
    }
};

struct shut_down {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::signal_source>&, eve::terminate&) {
        eve::process::shutdown(1'000'000'000);
    }
};

// The number in this argument; else the other one.
inline eve::i64 argument(eve::i64 i, eve::i64 otherwise) {
    eve::vector<eve::string> args = eve::process::args();
    return i < args.size() ? *args[i].to_int() : otherwise;
}

// A listener that reports its port, and stops at SIGTERM.
template <class Handler> eve::ref<eve::tcp_socket> serve(Handler handler, eve::i64 max = 0) {
    eve::ref<eve::tcp_socket> server =
        eve::tcp_socket::listen(argument(0, 0), eve::string::literal("127.0.0.1"), max);
    eve::on<eve::connection>(server, eve::move(handler), eve::hold::write, true);
    eve::on<eve::listening>(server, say_port{}, eve::hold::null, true);
    eve::on<eve::terminate>(eve::process::the_signals, shut_down{}, eve::hold::null, false);
    return server;
}

} // namespace io_check

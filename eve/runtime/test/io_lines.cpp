// A server that obeys lines and reports each event to its driver: all events that a socket can
// emit.
#include "io_check.hpp"

#include <string.h>

namespace {

using client_ref = eve::ref<eve::socket>;

eve::string text(const char* s) { return eve::string(s, static_cast<eve::i64>(strlen(s))); }

struct later_task {
    client_ref client;
    void operator()(eve::worker*, eve::frame*) { client->write(text("later\n")); }
};

struct late_close {
    void operator()(eve::worker*, eve::frame*, client_ref&, eve::close&) {
        io_check::say("late close");
    }
};

struct register_task {
    client_ref client;
    void operator()(eve::worker*, eve::frame*) {
        eve::on<eve::close>(client, late_close{}, eve::hold::write, true);
    }
};

// Occupies a worker and the socket for 300 ms.
struct spin_task {
    client_ref client;
    void operator()(eve::worker*, eve::frame*) {
        eve::i64 until = eve::monotonic_ns() + 300'000'000;
        while (eve::monotonic_ns() < until) {}
    }
};

// Waits until the socket has closed, then registers a handler for its end: U15 says that the
// handler is called all the same.
struct after_close {
    client_ref client;
    void operator()(eve::worker*, eve::frame*) {
        eve::await(eve::sleep(50'000'000), register_task{client}, true);
    }
};

struct raw_data {
    void operator()(eve::worker*, eve::frame*, client_ref& client, eve::data&) {
        eve::bytes all = client->read_buffer();
        client->write(text("raw:"));
        client->write_buffer(all);
    }
};

struct on_line {
    void operator()(eve::worker*, eve::frame*, client_ref& client, eve::line& line) {
        const eve::string& s = line.text;
        if (s == text("close")) {
            client->write(text("bye\n"));
            client->close();
            client->write(text("never\n"));
        } else if (s == text("fail")) {
            eve::fail(nullptr, "told to");
        } else if (s == text("later")) {
            eve::spawn_contained(later_task{client}, eve::write(client));
        } else if (s == text("spin")) {
            eve::spawn(spin_task{client}, eve::write(client));
        } else if (s == text("end")) {
            client->write(text("the end\n"));
            client->close_write();
        } else if (s == text("late")) {
            client->close();
            eve::spawn(after_close{client}, eve::write(client));
        } else if (s == text("raw")) {
            client->off();
            eve::on<eve::data>(client, raw_data{}, eve::hold::write, true);
        } else if (s.starts_with(text("limit "))) {
            client->limit(*s.cut(6, s.size(), nullptr).to_int());
        } else if (s.starts_with(text("big "))) {
            client->write(text("x").repeat(*s.cut(4, s.size(), nullptr).to_int()));
            io_check::say("pending %d", client->pending() > 0);
        } else {
            client->write(text("<") + s + text(">\n"));
        }
    }
};

template <class Event> struct on_event {
    const char* name;
    void operator()(eve::worker*, eve::frame*, client_ref&, Event&) { io_check::say("%s", name); }
};

struct on_error {
    void operator()(eve::worker*, eve::frame*, client_ref&, eve::error& e) {
        eve::string s = e.text();
        io_check::say("error %.*s", static_cast<int>(s.size()), s.data());
    }
};

struct on_connection {
    bool watch_overflow;
    bool operator()(eve::worker*, eve::frame*, eve::ref<eve::tcp_socket>&, eve::connection& c) {
        client_ref client = c.call();
        eve::on<eve::line>(client, on_line{}, eve::hold::write, true);
        eve::on<eve::close>(client, on_event<eve::close>{"close"}, eve::hold::write, true);
        eve::on<eve::error>(client, on_error{}, eve::hold::write, true);
        if (watch_overflow) {
            eve::on<eve::overflow>(client, on_event<eve::overflow>{"overflow"}, eve::hold::write,
                                   true);
            eve::on<eve::drained>(client, on_event<eve::drained>{"drained"}, eve::hold::write,
                                  true);
        }
        return true;
    }
};

void start(eve::worker*, eve::frame*) {
    io_check::serve(on_connection{io_check::argument(1, 0) != 0}, io_check::argument(2, 0));
}

} // namespace

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

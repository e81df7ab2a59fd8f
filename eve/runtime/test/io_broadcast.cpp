// The broadcast server: a message of one client goes to all. Prints the number of clients whenever
// one leaves.
#include "io_check.hpp"

namespace {

using clients_ref = eve::ref<eve::set<eve::ref<eve::socket>>>;

struct send_task {
    eve::ref<eve::bytes> message;
    eve::ref<eve::socket> c;
    void operator()(eve::worker*, eve::frame*) { c->write_buffer(*message); }
};

struct on_data {
    clients_ref clients;
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::socket>& client, eve::data&) {
        eve::built<eve::bytes> message(client->read_buffer());
        for (const eve::ref<eve::socket>& c : *clients)
            eve::spawn_contained(send_task{message.handle(), c}, eve::read(message), eve::write(c));
    }
};

struct on_close {
    clients_ref clients;
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::socket>& client, eve::close&) {
        clients->remove(client);
        io_check::say("left %ld", clients->size());
    }
};

struct on_connection {
    clients_ref clients;
    bool operator()(eve::worker*, eve::frame*, eve::ref<eve::tcp_socket>&, eve::connection& c) {
        eve::ref<eve::socket> client = c.call();
        clients->insert(client);
        eve::on<eve::data>(client, on_data{clients}, eve::hold::write, true, eve::read(clients));
        eve::on<eve::close>(client, on_close{clients}, eve::hold::write, false,
                            eve::write(clients));
        return true;
    }
};

void start(eve::worker*, eve::frame*) {
    clients_ref clients = eve::make<eve::set<eve::ref<eve::socket>>>({});
    eve::ref<eve::tcp_socket> server = eve::tcp_socket::listen(io_check::argument(0, 0));
    eve::on<eve::connection>(server, on_connection{clients}, eve::hold::write, false,
                             eve::write(clients));
    eve::on<eve::listening>(server, io_check::say_port{}, eve::hold::null, true);
    eve::on<eve::terminate>(eve::process::the_signals, io_check::shut_down{}, eve::hold::null,
                            false);
}

} // namespace

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

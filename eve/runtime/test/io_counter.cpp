// The counter server: byte 1 adds one, any other byte reads; every byte is answered with a line,
// in order.
#include "io_check.hpp"

namespace {

eve::ref<eve::i64> counter;

void reply(eve::ref<eve::socket>& client) {
    eve::formatter f;
    f.put(*counter);
    f.byte('\n');
    client->write(f);
}

struct add_task {
    eve::ref<eve::socket> client;
    void operator()(eve::worker*, eve::frame*) {
        *counter += 1;
        reply(client);
    }
};

struct ask_task {
    eve::ref<eve::socket> client;
    void operator()(eve::worker*, eve::frame*) { reply(client); }
};

struct on_data {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::socket>& client, eve::data&) {
        eve::bytes ops = client->read_buffer();
        for (eve::character op : ops) {
            if (op == 1)
                eve::spawn_contained(add_task{client}, eve::write(counter), eve::write(client));
            else eve::spawn_contained(ask_task{client}, eve::read(counter), eve::write(client));
        }
    }
};

struct on_connection {
    bool operator()(eve::worker*, eve::frame*, eve::ref<eve::tcp_socket>&, eve::connection& c) {
        eve::on<eve::data>(c.call(), on_data{}, eve::hold::write, true);
        return true;
    }
};

void start(eve::worker*, eve::frame*) {
    counter = eve::make<eve::i64>(0);
    io_check::serve(on_connection{});
}

} // namespace

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

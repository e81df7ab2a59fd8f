// The echo server of the language's introduction, as the compiler writes it.
#include "io_check.hpp"

namespace {

struct on_data {
    void operator()(eve::worker*, eve::frame*, eve::ref<eve::socket>& client, eve::data&) {
        client->write_buffer(client->read_buffer());
    }
};

struct on_connection {
    bool operator()(eve::worker*, eve::frame*, eve::ref<eve::tcp_socket>&, eve::connection& c) {
        eve::ref<eve::socket> client = c.call();
        eve::on<eve::data>(client, on_data{}, eve::hold::write, true);
        return true;
    }
};

void start(eve::worker*, eve::frame*) { io_check::serve(on_connection{}); }

} // namespace

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

// A task that computes for 200 ms on one of two workers while nothing is armed. It tells how many
// pollers were taken meanwhile: its own has nothing to hand out.
#include "io_check.hpp"
#include "loop.hpp"
#include "scheduler.hpp"

namespace {

void start(eve::worker*, eve::frame*) {
    eve::i64 until = eve::monotonic_ns() + 200'000'000;
    while (eve::monotonic_ns() < until) {}
    io_check::say("taken %lu, clients %u", eve::the_scheduler.taken.load(eve::order::relaxed),
                  eve::this_loop().clients());
}

} // namespace

int main(int argc, char** argv) { return eve::run(argc, argv, start); }

// Work that comes from a thread without a worker, while the workers may just be falling asleep: no
// wake-up gets lost.
#include "../threads.hpp"
#include "calls.hpp"
#include "core_check.hpp"

namespace eve::test {
namespace {

constexpr int sent = 3;
atomic<i32> came{0};
thread sender;

// Like a thread pool: every result is a root, and the process goes on until the last one has run.
void send(void*) {
    for (int i = 0; i < sent; i++) {
        delay();
        spawn([](worker*, frame*) {
            came.fetch_add(1, order::relaxed);
            disarm();
        });
    }
}

void start_sender(worker*, frame*) {
    came.store(0, order::relaxed);
    for (int i = 0; i < sent; i++) arm();
    sender.start(send, nullptr);
}

void all_came() {
    sender.join();
    expect(came.load(order::relaxed) == sent, "a root from outside was lost");
}

void delay_40() {
    for (int i = 0; i < 40; i++) delay();
}

using calls = call_chain<6, 30, delay_40>;

void start_calls(worker*, frame*) { calls::start(); }

void all_answered() {
    calls::join();
    expect(calls::done(), "the process ended before the last call");
}

// A long chain of hand-overs beside another root: both make progress.
ref<i64>* counter;
struct step_on {
    int left;
    void operator()(worker*, frame*) {
        ++**counter;
        if (left > 0) spawn(step_on{left - 1}, write(*counter));
    }
};

void count_up(worker*, frame*) {
    static ref<i64> the_counter;
    the_counter = make<i64>(0);
    counter = &the_counter;
    for (int i = 0; i < 4; i++) spawn(step_on{50}, write(the_counter));
}

void counted() {
    expect(**counter == 4 * 51, "an increment was lost");
    *counter = ref<i64>();
}

} // namespace

void test_workers() {
    rounds("worker: roots from outside", 4000, 300, start_sender, all_came);
    rounds("worker: a chain of calls", 4000, 300, start_calls, all_answered);
    rounds("worker: hand-over", 500, 100, count_up, counted);
}

} // namespace eve::test

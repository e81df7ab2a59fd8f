// Work that comes from a thread without a worker, while the workers may just be falling asleep: no
// wake-up gets lost.
#include "../threads.hpp"
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

// A chain of calls of a pool: each result has another root make the next call. While one of them is
// under way, or such a root can run, the process goes on.
constexpr int calls = 6;
atomic<i32> answered{0};
thread callers[calls];

void call_next();
void answer(void*) {
    for (int i = 0; i < 30; i++) delay(); // so that the workers fall asleep
    spawn([](worker*, frame*) {
        spawn([](worker*, frame*) {
            for (int i = 0; i < 40; i++) delay(); // nothing is armed meanwhile
            if (answered.fetch_add(1, order::relaxed) + 1 < calls) call_next();
        });
        spawn([](worker*, frame*) {}); // wakes the other worker
        disarm();
    });
}

void call_next() {
    arm();
    callers[answered.load(order::relaxed)].start(answer, nullptr);
}

void start_calls(worker*, frame*) {
    answered.store(0, order::relaxed);
    call_next();
}

void all_answered() {
    for (int i = 0; i <= answered.load(order::relaxed) && i < calls; i++) callers[i].join();
    expect(answered.load(order::relaxed) == calls, "the process ended before the last call");
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

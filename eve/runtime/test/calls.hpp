#pragma once
// A chain of calls of a pool, for the tests of the core: each result has another root make the next
// call, and wakes another worker. While one of them is under way, or such a root can run, the
// process goes on.
#include "../threads.hpp"
#include "core_check.hpp"

namespace eve::test {

// `Falling` delays before each result let the workers fall asleep. `work` is what a root does
// before the next call: nothing of the chain is armed meanwhile.
template <int Calls, int Falling, void (*work)()> class call_chain {
    static inline thread callers_[Calls];
    static inline atomic<i32> answered_{0};

public:
    static bool done() { return answered_.load(order::relaxed) == Calls; }

    static void start() {
        answered_.store(0, order::relaxed);
        call_next();
    }
    // Behind the end of the runtime.
    static void join() {
        for (int i = 0; i <= answered_.load(order::relaxed) && i < Calls; i++) callers_[i].join();
    }

private:
    static void call_next() {
        arm();
        callers_[answered_.load(order::relaxed)].start(answer, nullptr);
    }

    static void answer(void*) {
        for (int i = 0; i < Falling; i++) delay();
        spawn([](worker*, frame*) {
            spawn([](worker*, frame*) {
                work();
                if (answered_.fetch_add(1, order::relaxed) + 1 < Calls) call_next();
            });
            spawn([](worker*, frame*) {}); // wakes the other worker
            disarm();
        });
    }
};

} // namespace eve::test

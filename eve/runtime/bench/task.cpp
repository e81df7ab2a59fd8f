// The cost of roots: nanoseconds each, the least of some runs.
//   free       a root on an object of its own, spawned and run
//   chain      each root spawns the next one on the same object, which is handed over to it
//   two        as chain, with two objects
//   inline     run_now on a free object, as an event handler is run
// task [roots] [runs]
#include "../runtime.hpp"
#include "../scope.hpp"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

using namespace eve;

namespace {

f64 now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return f64(t.tv_sec) + f64(t.tv_nsec) * 1e-9;
}

i64 roots = 300000;
int runs = 5;
ref<i64> first, second;

struct timing {
    const char* name;
    f64 begin = 0, best = 1e9;
    int left = runs;
    void end() {
        f64 spent = now() - begin;
        if (spent < best) best = spent;
        if (--left == 0)
            printf("%-8s %d workers  %.1f ns\n", name, worker_count(), best * 1e9 / f64(roots));
    }
};

void next_bench(int which);

struct chain {
    timing* t;
    i64 left;
    bool two;
    void operator()(worker*, frame*) {
        ++*first;
        if (left > 0) {
            if (two) spawn(chain{t, left - 1, two}, write(first), write(second));
            else spawn(chain{t, left - 1, two}, write(first));
            return;
        }
        t->end();
        begin(t, two);
    }
    static void begin(timing* t, bool two) {
        if (t->left == 0) return next_bench(two ? 2 : 1);
        t->begin = now();
        spawn(chain{t, roots, two}, write(first));
    }
};

struct alone {
    ref<i64> mine;
    void operator()(worker*, frame*) { ++*mine; }
};

// Spawns in batches that fit the run queue. Each batch spawns itself again.
struct batch {
    timing* t;
    i64 left;
    void operator()(worker*, frame*) {
        for (int i = 0; i < 100; i++) {
            ref<i64> own = make<i64>(0);
            spawn(alone{own}, write(own));
        }
        if (left > 100) return spawn(batch{t, left - 100});
        t->end();
        begin(t);
    }
    static void begin(timing* t) {
        if (t->left == 0) return next_bench(3);
        t->begin = now();
        spawn(batch{t, roots});
    }
};

void inline_roots() {
    timing t{"inline"};
    while (t.left > 0) {
        t.begin = now();
        auto count = [](worker*, frame*) { ++*second; };
        for (i64 i = 0; i < roots; i++) run_now(count, true, write(second));
        t.end();
    }
}

void next_bench(int which) {
    static timing one{"chain"}, two{"two"}, free{"free"};
    if (which == 0) chain::begin(&one, false);
    if (which == 1) chain::begin(&two, true);
    if (which == 2) batch::begin(&free);
    if (which == 3) {
        spawn([](worker*, frame*) {
            inline_roots();
            first = second = ref<i64>();
        });
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) roots = atol(argv[1]);
    if (argc > 2) runs = atoi(argv[2]);
    return run(argc, argv, [](worker*, frame*) {
        first = make<i64>(0);
        second = make<i64>(0);
        next_bench(0);
    });
}

// The cost of fork and join: fib as the emitter writes it, with tasks only and with the task-free
// clone, beside plain recursion. Prints nanoseconds a call, the least of some runs. forkjoin [n]
// [runs]
#include "../forkjoin.hpp"
#include "../runtime.hpp"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

using namespace eve;

namespace {

[[gnu::noinline]] i64 serial(i64 n) { return n < 2 ? n : serial(n - 1) + serial(n - 2); }

i64 tasks(worker* w, frame* k, i64 n);
void tasks_thunk(worker* w, frame* top, frame* me) {
    i64 r = tasks(w, top, me->as<i64>());
    me->emplace<i64>(r);
}
i64 tasks(worker* w, frame* k, i64 n) {
    if (n < 2) return n;
    k->emplace<i64>(n - 1);
    push(w, k, tasks_thunk);
    i64 right = tasks(w, k + 1, n - 2);
    if (pop(w, k)) return tasks(w, k, n - 1) + right;
    if (k->failed()) rethrow(k);
    return k->as<i64>() + right;
}

// If enough children are ready, a few levels run without any; then it checks again.
i64 clone(worker* w, frame* k, i64 n);
template <int Levels> i64 plain(worker* w, frame* k, i64 n) {
    if (n < 2) return n;
    if constexpr (Levels == 0) return clone(w, k, n);
    else return plain<Levels - 1>(w, k, n - 1) + plain<Levels - 1>(w, k, n - 2);
}
void clone_thunk(worker* w, frame* top, frame* me) {
    i64 r = clone(w, top, me->as<i64>());
    me->emplace<i64>(r);
}
i64 clone(worker* w, frame* k, i64 n) {
    if (n < 2) return n;
    if (enough_ready(w, k)) return plain<4>(w, k, n - 1) + plain<4>(w, k, n - 2);
    k->emplace<i64>(n - 1);
    push(w, k, clone_thunk);
    i64 right = clone(w, k + 1, n - 2);
    if (pop(w, k)) return clone(w, k, n - 1) + right;
    if (k->failed()) rethrow(k);
    return k->as<i64>() + right;
}

f64 now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return f64(t.tv_sec) + f64(t.tv_nsec) * 1e-9;
}

i64 fib_n = 36;
int runs = 5;

template <class F> void measure(const char* name, F&& fib) {
    f64 best = 1e9;
    i64 result = 0;
    for (int i = 0; i < runs; i++) {
        f64 begin = now();
        result = fib();
        f64 spent = now() - begin;
        if (spent < best) best = spent;
    }
    f64 calls = 2.0 * f64(serial(fib_n + 1)) - 1;
    printf("%-8s %d workers  %.3f ns a call  (fib = %ld)\n", name, worker_count(),
           best * 1e9 / calls, result);
}

void start(worker* w, frame* top) {
    measure("serial", [] { return serial(fib_n); });
    measure("tasks", [=] { return tasks(w, top, fib_n); });
    measure("clone", [=] { return clone(w, top, fib_n); });
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) fib_n = atol(argv[1]);
    if (argc > 2) runs = atoi(argv[2]);
    return run(argc, argv, start);
}

// Ends of a process, one for each argument; core_test.go says what each prints and its status.
#include "../fail.hpp"
#include "../failure.hpp"
#include "../runtime.hpp"
#include "../scope.hpp"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

using namespace eve;

namespace {

constexpr site here = {"chat.eve", 12};

struct file {
    int number;
    bool failed(const failure&) {
        printf("file %d closes\n", number);
        return true;
    }
};

// Not contained: the process ends. Contained: the objects held to write are told, and the process
// goes on.
void fail_loose(worker*, frame*) {
    ref<file> d = make<file>(file{1});
    spawn([d](worker*, frame*) { fail(&here, "no such room"); }, write(d));
}
void fail_contained(worker*, frame*) {
    ref<file> a = make<file>(file{1}), b = make<file>(file{2});
    spawn_contained([a, b](worker*, frame*) { fail(&here, "no such room"); }, write(a), read(b));
    spawn([a](worker*, frame*) { printf("and on with %d\n", a->number); }, write(a));
}

[[gnu::noinline]] i64 deeper(i64 n) {
    volatile i64 here_too[64] = {n};
    return n < 0 ? 0 : deeper(n + 1) + here_too[0];
}
void too_deep(worker*, frame*) { printf("%ld\n", deeper(0)); }

void too_wide(worker* w, frame* top) {
    for (frame* k = top;; k++) push(w, k, no_op);
}

void too_long(worker*, frame*) {
    for (;;) check_budget(&here);
}

// The process is stopped for longer than the budget, after the first check of the watchdog, which
// comes after a quarter of the budget. The task itself computes for 10 ms. A busy machine may take
// a second longer for all that.
void stopped(worker*, frame*) {
    pid_t self = getpid();
    if (fork() == 0) {
        usleep(2500000);
        kill(self, SIGCONT);
        _exit(0);
    }
    usleep(450000);
    kill(self, SIGSTOP);
    timespec t;
    do {
        check_budget(&here);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 10000000);
    puts("in time");
}

// One root holds an object that the other waits for, until that has been seen.
void hold_and_wait(worker*, frame*) {
    ref<file> d = make<file>(file{1});
    spawn(
        [d](worker*, frame*) {
            spawn([d](worker*, frame*) { puts("done"); }, read(d));
            kill(getpid(), SIGQUIT);
            usleep(1000000);
        },
        write(d));
}

void count_workers(worker*, frame*) { printf("%d workers\n", worker_count()); }

end_hook flush{[]() noexcept {
    puts("flushed");
    fflush(stdout);
}};
void leave(worker*, frame*) { end_process(7); }

void inline_now(worker*, frame*) {
    ref<file> d = make<file>(file{1}), e = make<file>(file{2});
    auto ask = [&](worker*, frame*) { printf("file %d\n", d->number); };
    printf("free: %d\n", run_now(ask, true, write(d), read(d), read(e)));
    built<file> held(file{3});
    printf("held: %d\n", run_now(ask, true, write(d), read(held)));
    printf("given back: %d\n", run_now(ask, true, write(d)));
}

} // namespace

int main(int argc, char** argv) {
    setvbuf(stdout, nullptr, _IOLBF, 1024);
    at_end(&flush);
    struct {
        const char* name;
        void (*start)(worker*, frame*);
    } all[] = {{"loose", fail_loose},      {"contained", fail_contained},
               {"deep", too_deep},         {"wide", too_wide},
               {"long", too_long},         {"trace", hold_and_wait},
               {"workers", count_workers}, {"leave", leave},
               {"inline", inline_now},     {"stopped", stopped}};
    for (auto& a : all)
        if (argc == 2 && strcmp(argv[1], a.name) == 0) return run(argc, argv, a.start);
    return 2;
}

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

// Whether a process is stopped, by its state in proc_pid_stat(5); one that has gone is.
bool is_stopped(pid_t p) {
    char name[64], state = 'T';
    snprintf(name, sizeof name, "/proc/%d/stat", int(p));
    FILE* f = fopen(name, "r");
    if (f == nullptr) return true;
    bool known = fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
    fclose(f);
    return !known || state == 'T';
}

// The process is stopped for longer than the budget of 4 s, after the first check of the watchdog,
// which comes after a quarter of that. The task itself computes for 10 ms. A busy machine may take
// 2.8 s longer for all that.
void stopped(worker*, frame*) {
    pid_t self = getpid();
    if (fork() == 0) {
        while (!is_stopped(self)) usleep(10000);
        usleep(5000000);
        kill(self, SIGCONT);
        _exit(0);
    }
    usleep(1200000);
    kill(self, SIGSTOP);
    timespec t;
    do {
        check_budget(&here);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 10000000);
    puts("in time");
}

// Sends the signal, and passes on what the process says to its standard error, until these words.
void say_at(int what, const char* words) {
    int ends[2], out = dup(STDERR_FILENO);
    if (out < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return;
    kill(getpid(), what);
    char said[1 << 16];
    usize used = 0;
    do {
        ssize_t n = ::read(ends[0], said + used, sizeof said - 1 - used);
        if (n <= 0) break;
        used += usize(n);
        said[used] = 0;
    } while (strstr(said, words) == nullptr && used + 1 < sizeof said);
    (void)!::write(out, said, used);
    dup2(out, STDERR_FILENO);
}

// One root holds an object that the other waits for, until that has been seen.
void hold_and_wait(worker*, frame*) {
    ref<file> d = make<file>(file{1});
    spawn(
        [d](worker*, frame*) {
            spawn([d](worker*, frame*) { puts("done"); }, read(d));
            say_at(SIGQUIT, " to read\n");
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

#include "threads.hpp"
#include "fail.hpp"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace eve {

void finish_outputs() noexcept; // of output.hpp, which declares more names than this file wants
void save_all() noexcept;       // of saving.hpp, likewise

namespace model { // in a model build, test/model.cpp defines these
unsigned long start(void (*body)(void*), void* argument);
void join(unsigned long thread);
void wait(void* word, u32 value, bool limited);
void wake(void* word, int threads);
} // namespace model

namespace {

constexpr usize page = 4096;
#ifdef __SANITIZE_THREAD__
// ThreadSanitizer remembers 65,536 calls of a thread, and writes behind that memory without a word
// (GCC 12). A call takes at least 32 bytes.
constexpr usize most_stack = 2ul << 20;
#else
constexpr usize most_stack = 256ul << 20; // virtual; enough for a recursion of a million calls
#endif
constexpr usize least_stack = 1ul << 20;
constexpr usize alt_bytes = 64 << 10; // for the fault handler
constexpr int guards_max = 1024;      // two for each of at most 256 workers, and a few more

struct guarded {
    u64 low, high; // of the range with its guard pages
    const char* fault;
};
guarded guards[guards_max];
atomic<int> guards_known{0};
atomic<bool> fault_told{false};

struct start_block {
    void (*body)(void*);
    void* argument;
};

void report_fault(int signal, siginfo_t* info, void*) {
    auto at = reinterpret_cast<u64>(info->si_addr);
    int n = guards_known.load(order::acquire);
    for (int i = 0; i < n; i++) {
        const guarded& g = guards[i];
        bool below = at >= g.low && at < g.low + page, above = at >= g.high - page && at < g.high;
        if (!below && !above) continue;
        if (fault_told.exchange(true, order::acq_rel)) // by another thread, which ends the process
            for (;;) pause();
        finish_outputs();
        save_all();
        (void)!write(STDERR_FILENO, g.fault, strlen(g.fault));
        _exit(1);
    }
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    // the instruction faults again and ends the process as usual
    sigaction(signal, &usual, nullptr);
}

void watch_faults() {
    stack_t alt = {};
    alt.ss_sp = malloc(alt_bytes);
    alt.ss_size = alt_bytes;
    sigaltstack(&alt, nullptr);
    struct sigaction watch = {};
    watch.sa_sigaction = report_fault;
    watch.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &watch, nullptr);
    sigaction(SIGBUS, &watch, nullptr);
}

void unwatch_faults() {
    stack_t was = {}, none = {};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, &was) == 0) free(was.ss_sp);
}

void* begin_thread(void* block) {
    start_block start = *static_cast<start_block*>(block);
    free(block);
    watch_faults();
    start.body(start.argument);
    unwatch_faults();
    return nullptr;
}

} // namespace

// ThreadSanitizer delays signals in a record for each thread, which it makes at first use. A
// signal that arrives while the record is being made makes a second record, and is lost with it
// (GCC 12). Any call that may block makes the record.
void expect_signals() noexcept {
#ifdef __SANITIZE_THREAD__
    if constexpr (!modelled) usleep(1);
#endif
}

void* reserve(usize& bytes, usize least) noexcept {
    for (; bytes >= least; bytes /= 2) {
        void* p = mmap(nullptr, bytes + 2 * page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        char* start = static_cast<char*>(p) + page;
        if (mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0) {
            madvise(start, bytes, MADV_NOHUGEPAGE); // the first access is to cost 4 KiB, not 2 MiB
            return start;
        }
        munmap(p, bytes + 2 * page);
    }
    die_out_of_memory();
}

void unreserve(void* start, usize bytes) noexcept {
    auto low = reinterpret_cast<u64>(start) - page;
    int n = modelled ? 0 : guards_known.load(order::relaxed);
    for (int i = 0; i < n; i++)
        if (guards[i].low == low) guards[i].high = guards[i].low = page;
    munmap(static_cast<char*>(start) - page, bytes + 2 * page);
}

void name_guard(const void* start, usize bytes, const char* fault) noexcept {
    if constexpr (modelled) return; // a run must not depend on the runs before it
    u64 low = reinterpret_cast<u64>(start) - page;
    int n = guards_known.load(order::relaxed), i = 0;
    while (i < n && guards[i].high != page) i++;
    if (i == guards_max) return;
    guards[i] = guarded{low, low + bytes + 2 * page, fault};
    if (i == n) guards_known.store(n + 1, order::release);
}

void thread::start(void (*body)(void*), void* argument) {
    if constexpr (modelled) {
        handle_ = model::start(body, argument);
        return;
    }
    stack_bytes_ = most_stack;
    stack_ = reserve(stack_bytes_, least_stack);
    name_guard(stack_, stack_bytes_, "eve: stack overflow: a task calls itself too deeply\n");
    auto* block = static_cast<start_block*>(malloc(sizeof(start_block)));
    *block = start_block{body, argument};
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, stack_, stack_bytes_);
    pthread_t made;
    if (pthread_create(&made, &how, begin_thread, block) != 0) die("cannot start a thread");
    handle_ = made;
    pthread_attr_destroy(&how);
}

void thread::join() {
    if constexpr (modelled) return model::join(handle_);
    pthread_join(handle_, nullptr);
    unreserve(stack_, stack_bytes_);
}

void wait_on(atomic<u32>& word, u32 value, i64 timeout_us) noexcept {
    wait_at(word.raw(), value, timeout_us);
}

void wait_at(void* word, u32 value, i64 timeout_us) noexcept {
    if constexpr (modelled) return model::wait(word, value, timeout_us >= 0);
    timespec limit = {timeout_us / 1000000, timeout_us % 1000000 * 1000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_us < 0 ? nullptr : &limit, nullptr,
            0);
}

void wake_on(atomic<u32>& word, int threads) noexcept { wake_at(word.raw(), threads); }

void wake_at(void* word, int threads) noexcept {
    if constexpr (modelled) return model::wake(word, threads);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

void yield_thread() noexcept {
    if constexpr (modelled) return model::yield();
    sched_yield();
}

} // namespace eve

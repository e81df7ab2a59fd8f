#include "profile.hpp"

#include "dump.hpp"
#include "fail.hpp"
#include "runtime.hpp"
#include "saving.hpp"
#include "scheduler.hpp"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace eve {
namespace {

constexpr u64 usual_rate = 997; // a prime: no loop of a millisecond is in step with it
constexpr u64 most_rate = 10'000;
constexpr usize most_depth = 61;    // places of a stack
constexpr usize most_frames = 4000; // looked at, from the innermost on
constexpr usize places = 1 << 13;   // of a sampler; a power of two
constexpr usize most_stacks = places / 4 * 3;

// A stack that was seen. Written by its worker's handler, read by others.
struct seen_stack {
    atomic<u64> count; // of samples; 0: a free place
    atomic<u64> code;  // body_code of the root that ran; 0: none
    atomic<u64> depth;
    atomic<u64> at[most_depth]; // the innermost first
};

struct alignas(64) sampler {
    seen_stack* stacks = nullptr; // of `places`
    worker* of = nullptr;
    u64 low = 0, high = 0; // of the thread's stack
    usize used = 0;
    timer_t timer{};
    bool timed = false;
    atomic<u64> samples{0};
    atomic<u64> lost{0};
};

constinit sampler* samplers = nullptr; // one for each worker; null: no profile is taken
constinit int sampler_count = 0;
constinit thread_local sampler* mine = nullptr;
constinit dump_names names{};
constinit u64 rate = 0;

struct walk {
    u64 at[most_depth];
    usize depth = 0;

    void add(u64 pc) noexcept {
        for (usize i = 0; i < depth; i++)
            if (at[i] == pc) return;
        if (depth < most_depth) at[depth++] = pc;
    }
};

struct registers {
    u64 pc, fp;
};

registers registers_of(void* context) noexcept {
    auto* c = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
    return {u64(c->uc_mcontext.gregs[REG_RIP]), u64(c->uc_mcontext.gregs[REG_RBP])};
#elif defined(__aarch64__)
    return {c->uc_mcontext.pc, c->uc_mcontext.regs[29]};
#else
    (void)c;
    return {0, 0};
#endif
}

// A frame is: the frame pointer of the caller, the return address. Code without frame pointers may
// leave any number in the register, so only addresses of the thread's stack are followed, upwards.
__attribute__((no_sanitize("address", "thread"))) // clang has no [[gnu::]] of this name
void follow(walk& w, u64 fp, const sampler& t) noexcept {
    for (usize n = 0; n < most_frames; n++) {
        if (fp < t.low || fp > t.high - 16 || fp % 8 != 0) return;
        auto* words = reinterpret_cast<const u64*>(fp);
        if (words[1] == 0) return;
        w.add(words[1] - 1); // in the call, not behind it
        if (words[0] <= fp) return;
        fp = words[0];
    }
}

bool same_stack(const seen_stack& s, const walk& w, u64 code) noexcept {
    if (s.code.load(order::relaxed) != code || s.depth.load(order::relaxed) != w.depth)
        return false;
    for (usize i = 0; i < w.depth; i++)
        if (s.at[i].load(order::relaxed) != w.at[i]) return false;
    return true;
}

void count_stack(sampler& t, walk& w, u64 code, u64 times) noexcept {
    u64 hash = code;
    for (usize i = 0; i < w.depth; i++) hash = (hash ^ w.at[i]) * 0x9E3779B97F4A7C15ul;
    usize i = usize(hash >> 51);
    while (t.stacks[i].count.load(order::relaxed) != 0 && !same_stack(t.stacks[i], w, code))
        i = (i + 1) % places;
    seen_stack& s = t.stacks[i];
    u64 count = s.count.load(order::relaxed);
    if (count == 0) {
        if (t.used == most_stacks) {
            t.lost.store(t.lost.load(order::relaxed) + times, order::relaxed);
            return;
        }
        t.used++;
        s.code.store(code, order::relaxed);
        s.depth.store(w.depth, order::relaxed);
        for (usize k = 0; k < w.depth; k++) s.at[k].store(w.at[k], order::relaxed);
    }
    s.count.store(count + times, order::release);
    t.samples.store(t.samples.load(order::relaxed) + times, order::relaxed);
}

void on_sample(int, siginfo_t* info, void* context) {
    sampler* t = mine;
    if (t == nullptr || info->si_code != SI_TIMER) return;
    int error = errno;
    registers now = registers_of(context);
    walk w;
    w.add(now.pc);
    follow(w, now.fp, *t);
    const task* root = t->of->running;
    u64 code = root ? reinterpret_cast<u64>(&root->kind->what) : 0;
    count_stack(*t, w, code, 1 + u64(info->si_overrun > 0 ? info->si_overrun : 0));
    errno = error;
}

// Each stack is a section of its own, since its worker may add others meanwhile.
void put_stacks(dump& to, const sampler& t, int number) noexcept {
    u64 last = 0;
    for (usize i = 0; i < places; i++) {
        const seen_stack& s = t.stacks[i];
        u64 count = s.count.load(order::acquire);
        if (count == 0) continue;
        u64 code = s.code.load(order::relaxed), depth = s.depth.load(order::relaxed);
        if (code != last && code != 0) to.put_code(reinterpret_cast<const body_code*>(code));
        last = code;
        to.section("stack", (3 + depth) * 8);
        to.put(u64(number));
        to.put(count);
        to.put(code);
        for (u64 k = 0; k < depth; k++) to.put(s.at[k].load(order::relaxed));
    }
}

bool write_file() noexcept {
    dump file("EVEPROF1", names);
    u64 samples = 0, lost = 0;
    for (int i = 0; i < sampler_count; i++) {
        samples += samplers[i].samples.load(order::relaxed);
        lost += samplers[i].lost.load(order::relaxed);
    }
    file.section("head", 6 * 8);
    file.put(rate);
    file.put(u64(sampler_count));
    file.put(u64(getpid()));
    file.put(samples);
    file.put(lost);
    file.put(reinterpret_cast<u64>(&run));
    file.put_program();
    for (int i = 0; i < sampler_count; i++) put_stacks(file, samplers[i], i);
    file.section("end", 0);
    return file.close("profile");
}

u64 rate_wanted() noexcept {
    const char* text = getenv("EVE_PROFILE_RATE");
    if (!text || !*text) return usual_rate;
    char* end;
    u64 n = strtoul(text, &end, 10);
    if (*end != 0 || *text == '-' || n == 0 || n > most_rate)
        die("EVE_PROFILE_RATE is a number of samples a second, 10000 at most");
    return n;
}

} // namespace

void open_profile() noexcept {
    const char* path = getenv("EVE_PROFILE");
    if (modelled || !path || !*path) return;
    if (!names.set(path)) die("EVE_PROFILE: the name is too long");
    rate = rate_wanted();
    unsetenv("EVE_PROFILE"); // programs that this one starts do not write the same file
    sampler_count = the_scheduler.count;
    samplers = static_cast<sampler*>(
        aligned_alloc(alignof(sampler), usize(sampler_count) * sizeof(sampler)));
    if (!samplers) die_out_of_memory();
    for (int i = 0; i < sampler_count; i++) {
        sampler* t = new (place{&samplers[i]}) sampler;
        void* memory = mmap(nullptr, places * sizeof(seen_stack), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) die("EVE_PROFILE: no memory for the stacks");
        t->stacks = static_cast<seen_stack*>(memory);
    }
    struct sigaction how {};
    how.sa_sigaction = on_sample;
    how.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &how, nullptr);
    if (!write_file()) _exit(1); // noticed before the program runs
    save_at_end([]() noexcept { write_file(); });
}

void close_profile() noexcept {
    if (samplers == nullptr) return;
    signal(SIGPROF, SIG_IGN);
    for (int i = 0; i < sampler_count; i++) munmap(samplers[i].stacks, places * sizeof(seen_stack));
    free(samplers);
    samplers = nullptr;
}

void profile_worker(worker* w) noexcept {
    if (samplers == nullptr) return;
    sampler* t = &samplers[w->id];
    t->of = w;
    pthread_attr_t how;
    if (pthread_getattr_np(pthread_self(), &how) == 0) {
        void* low;
        usize bytes;
        pthread_attr_getstack(&how, &low, &bytes);
        t->low = reinterpret_cast<u64>(low);
        t->high = t->low + bytes;
        pthread_attr_destroy(&how);
    }
    mine = t;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &t->timer) != 0) die("EVE_PROFILE: no timer");
    t->timed = true;
    itimerspec every{};
    every.it_interval.tv_nsec = static_cast<long>(1'000'000'000 / rate);
    if (rate == 1) every.it_interval = {1, 0};
    every.it_value = every.it_interval;
    timer_settime(t->timer, 0, &every, nullptr);
}

void unprofile_worker() noexcept {
    sampler* t = mine;
    if (t == nullptr) return;
    if (t->timed) timer_delete(t->timer);
    t->timed = false;
    mine = nullptr;
}

} // namespace eve

#include "model.hpp"
#include "../worker.hpp"
#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace eve::model {

unsigned long start(void (*body)(void*), void* argument);
void join(unsigned long thread);
void wait(void* word, u32 value, bool limited);
void wake(void* word, int threads);
void* allocate(usize bytes);
void release(void* block, usize bytes);

namespace {

constexpr usize stack_bytes = 512 << 10;
constexpr u64 most_steps = 4'000'000; // of one run; more means that a thread waits in vain

struct strand {
    ucontext_t context;
    void (*body)(void*);
    void* argument;
    void* waits_on = nullptr; // a futex word, or the strand that it joins
    bool limited = false;     // its wait may time out
    bool ended = false;
    // Data of one thread of the system.
    worker* me = nullptr;
    unsigned char exceptions[16] = {};
};

struct choice {
    u32 taken, options;
};

// The order of addresses decides the order of locks. So each run gets the same addresses: they
// ascend from the start, and released memory is not used again.
constexpr usize arena_bytes = 64 << 20;
alignas(64) unsigned char arena[arena_bytes];
usize arena_used = 0;

std::vector<strand*> strands;
std::vector<void*> stacks; // of ended runs, for reuse
strand* current = nullptr;
ucontext_t outside;
u64 random_state, switch_one_in, steps, all_steps, seed_now;
bool exploring;
std::vector<choice> path;
usize at_choice;
int switches_left, switches_most;

[[noreturn]] void give_up(const char* why) {
    char where[128];
    describe(where, sizeof where);
    fprintf(stderr, "%s: %s\n", where, why);
    _exit(1);
}

u64 next_random() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545F4914F6CDD1Dul >> 16;
}

// Chooses one of the options, as the seed or the path says.
u32 choose(u32 options) {
    if (!exploring) return u32(next_random() % options);
    if (options == 1) return 0;
    if (at_choice == path.size()) path.push_back({0, options});
    return path[at_choice++].taken;
}

void switch_to(strand* next) {
    if (next == current) return;
    strand* from = current;
    from->me = this_worker;
    __builtin_memcpy(from->exceptions, abi::__cxa_get_globals(), sizeof from->exceptions);
    this_worker = next->me;
    __builtin_memcpy(abi::__cxa_get_globals(), next->exceptions, sizeof next->exceptions);
    current = next;
    swapcontext(&from->context, &next->context);
}

// The strands that can go on; with `times`, also those whose wait may time out.
std::vector<strand*> ready(bool times) {
    std::vector<strand*> list;
    for (strand* s : strands)
        if (!s->ended && (!s->waits_on || (times && s->limited))) list.push_back(s);
    return list;
}

void go_on_elsewhere(bool or_here) {
    auto list = ready(true);
    if (!or_here || list.size() > 1)
        for (usize i = 0; i < list.size(); i++)
            if (list[i] == current && (or_here || current->waits_on))
                list.erase(list.begin() + long(i--));
    if (list.empty() && current->waits_on && current->limited) list.push_back(current);
    if (list.empty()) give_up("nobody can go on");
    strand* next = list[choose(u32(list.size()))];
    next->waits_on = nullptr;
    switch_to(next);
}

void count_step() {
    all_steps++;
    if (++steps > most_steps) give_up("it takes too many steps");
}

void begin_strand() {
    current->body(current->argument);
    current->ended = true;
    for (strand* s : strands)
        if (s->waits_on == current) s->waits_on = nullptr;
    if (ready(true).empty()) {
        for (strand* s : strands)
            if (!s->ended) give_up("nobody can go on");
        setcontext(&outside);
    }
    go_on_elsewhere(false);
}

void run_once(void (*body)()) {
    steps = 0;
    arena_used = 0;
    this_worker = nullptr;
    auto call = [](void* f) { reinterpret_cast<void (*)()>(f)(); };
    start(call, reinterpret_cast<void*>(body));
    current = strands[0];
    swapcontext(&outside, &current->context);
    current = nullptr;
    this_worker = nullptr;
    for (strand* s : strands) {
        stacks.push_back(s->context.uc_stack.ss_sp);
        delete s;
    }
    strands.clear();
}

} // namespace

void step() {
    if (!current) return;
    count_step();
    if (!exploring) {
        if (next_random() % switch_one_in != 0) return;
        auto list = ready(false);
        return switch_to(list[choose(u32(list.size()))]);
    }
    if (switches_left == 0) return;
    auto list = ready(false);
    u32 taken = choose(u32(list.size()));
    if (taken == 0) return;
    switches_left--;
    usize self_at = 0;
    while (list[self_at] != current) self_at++;
    switch_to(list[(self_at + taken) % list.size()]);
}

void yield() {
    if (!current) return;
    count_step();
    go_on_elsewhere(true);
}

u64 ticks() { return steps * 1000; }

void* allocate(usize bytes) {
    usize at = arena_used;
    arena_used = (at + bytes + 63) / 64 * 64;
    if (arena_used > arena_bytes) give_up("it takes too much memory");
    return arena + at;
}

// Overwrites the block, so that a use after release is noticed.
void release(void* block, usize bytes) { __builtin_memset(block, 0xDD, bytes); }

unsigned long start(void (*body)(void*), void* argument) {
    auto* s = new strand;
    s->body = body;
    s->argument = argument;
    void* stack = stacks.empty() ? malloc(stack_bytes) : stacks.back();
    if (!stacks.empty()) stacks.pop_back();
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = stack;
    s->context.uc_stack.ss_size = stack_bytes;
    s->context.uc_link = nullptr;
    makecontext(&s->context, begin_strand, 0);
    strands.push_back(s);
    return strands.size() - 1;
}

void join(unsigned long thread) {
    strand* other = strands[thread];
    if (other->ended) return;
    current->waits_on = other;
    current->limited = false;
    go_on_elsewhere(false);
}

void wait(void* word, u32 value, bool limited) {
    count_step();
    if (__atomic_load_n(static_cast<u32*>(word), __ATOMIC_RELAXED) != value) return;
    current->waits_on = word;
    current->limited = limited;
    go_on_elsewhere(false);
}

void wake(void* word, int threads) {
    if (!current) return;
    for (strand* s : strands)
        if (threads > 0 && s->waits_on == word) {
            s->waits_on = nullptr;
            threads--;
        }
}

void run(u64 seed, void (*body)()) {
    exploring = false;
    seed_now = seed;
    random_state = seed * 0x9E3779B97F4A7C15ul + 1;
    switch_one_in =
        1 + next_random() % 24; // runs with many switches and runs with few find different errors
    run_once(body);
}

u64 explore(void (*body)(), int switches) {
    exploring = true;
    switches_most = switches;
    path.clear();
    for (u64 n = 1;; n++) {
        at_choice = 0;
        switches_left = switches_most;
        run_once(body);
        while (!path.empty() && path.back().taken + 1 == path.back().options) path.pop_back();
        if (path.empty()) {
            exploring = false;
            return n;
        }
        path.back().taken++;
    }
}

void describe(char* text, usize size) {
    if (exploring) snprintf(text, size, "an order of %zu choices", path.size());
    else snprintf(text, size, "EVE_SEED=%lu", seed_now);
}

u64 steps_in_all() { return all_steps; }

} // namespace eve::model

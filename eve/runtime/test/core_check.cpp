#include "core_check.hpp"
#include "model.hpp"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace eve::test {
namespace {

u64 random_state;
void (*body_now)(worker*, frame*);
void (*after_now)();

void one_round() {
    run(0, nullptr, body_now);
    after_now();
}

void begin(u64 seed) {
    random_state = seed * 0x9E3779B97F4A7C15ul + 7;
    char workers[2] = {char('1' + seed % 4), 0};
    setenv("EVE_WORKERS", workers, 1);
    setenv("EVE_BUDGET", "0", 1);
}

} // namespace

void expect(bool holds, const char* text) {
    if (holds) return;
    char where[128] = "real threads";
    if constexpr (modelled) model::describe(where, sizeof where);
    fprintf(stderr, "%s: %s\n", where, text);
    _exit(1);
}

// Used by one thread at a time: the first root, before it spawns the users of the numbers.
u32 random_below(u32 n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return u32((random_state * 0x2545F4914F6CDD1Dul) >> 33) % n;
}

void delay() {
    static atomic<u32> nothing{0};
    for (int i = 0; i < 3; i++) nothing.load(order::relaxed);
}

void rounds(const char* name, int model_rounds, int real_rounds, void (*body)(worker*, frame*),
            void (*after)()) {
    body_now = body;
    after_now = after;
    const char* only = getenv("EVE_SEED");
    int n = modelled ? model_rounds : real_rounds;
    if (const char* times = getenv("EVE_TIMES")) n *= atoi(times);
    u64 first = only ? strtoul(only, nullptr, 10) : 1, last = only ? first : u64(n);
    for (u64 seed = first; seed <= last; seed++) {
        begin(seed);
        if constexpr (modelled) model::run(seed, one_round);
        else one_round();
    }
    if constexpr (modelled)
        printf("%s: %d seeds, %lu steps so far\n", name, n, model::steps_in_all());
    else printf("%s: %d rounds\n", name, n);
}

} // namespace eve::test

// The seed, and the hash of long byte strings. It is wyhash's scheme with secret factors, so that
// no input, known or guessed, can make a factor 0.
#include "hash.hpp"

#include <cstring>
#include <ctime>
#include <sys/random.h>

namespace eve {

u64 hash_seed[2];

namespace {

[[gnu::constructor(101)]] void draw_seed() noexcept {
    u64 drawn[2] = {};
    if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) {
        // Early in the boot there may be no entropy: the clock and the load address are used then.
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC, &t);
        drawn[0] = u64(t.tv_nsec) * 0x9e3779b97f4a7c15u ^ reinterpret_cast<u64>(&draw_seed);
        drawn[1] = u64(t.tv_sec) ^ reinterpret_cast<u64>(&t) * 0xbf58476d1ce4e5b9u;
    }
    hash_seed[0] = drawn[0] | 1;
    hash_seed[1] = drawn[1] | 1;
}

u64 load(const u8* p) noexcept {
    u64 x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

} // namespace

u64 hash_bytes(const void* from, u64 n) noexcept {
    const u8* p = static_cast<const u8*>(from);
    u64 a = hash_seed[0], b = hash_seed[1];
    u64 h = hash_mix(n ^ a, b);
    for (; n > 16; n -= 16, p += 16) h = hash_mix(load(p) ^ a ^ h, load(p + 8) ^ b);
    u8 last[16] = {};
    if (n != 0) std::memcpy(last, p, n);
    return hash_mix(hash_mix(load(last) ^ a ^ h, load(last + 8) ^ b), b);
}

} // namespace eve

#pragma once
// Hashing of map keys. The seed differs in every run, so nobody can send keys that all collide.
// The order of maps does not depend on it, since maps keep the order of insertion.
#include "number.hpp"
#include "value.hpp"

namespace eve {

// Two odd random numbers, drawn before main.
extern u64 hash_seed[2];

// Both halves of the product of a and b, combined by XOR: every bit of the result depends on all
// bits of both.
inline u64 hash_mix(u64 a, u64 b) noexcept {
    __extension__ using wide = unsigned __int128;
    wide product = wide(a) * b;
    return u64(product) ^ u64(product >> 64);
}
inline u64 hash_word(u64 x) noexcept { return hash_mix(x ^ hash_seed[0], hash_seed[1]); }
// The hash of a pair, from the hashes of its parts.
inline u64 hash_join(u64 a, u64 b) noexcept { return hash_mix(a ^ hash_seed[1], b ^ hash_seed[0]); }
u64 hash_bytes(const void* p, u64 n) noexcept;

// Integers and bools by value, enums by number, handles by the address of their object, all other
// types by their method hash_value().
template <class T> u64 hash_of(const T& x) {
    if constexpr (is_integer<T> || __is_enum(T)) return hash_word(u64(x));
    else if constexpr (__is_same(T, bool)) return hash_word(x);
    else if constexpr (requires { x.hash_value(); }) return x.hash_value();
    else return hash_word(reinterpret_cast<u64>(x.object()));
}

} // namespace eve

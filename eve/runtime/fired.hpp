#pragma once
// The event of timers, and of sockets with a clock: std/prelude.eve.
#include "instant.hpp"

namespace eve {

// The kernel's timers are not more precise than about this; a guess.
constexpr duration shortest_interval = 50'000;

struct fired {
    i64 count;
    instant at;
    i64 number;
    u8 winding = 0; // of a socket's clock: how often it had been set, modulo 64
};

} // namespace eve

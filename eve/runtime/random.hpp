#pragma once
// Module random: bytes from the kernel. Generators are written in Eve, in std/random.eve.
#include "vector.hpp"

namespace eve::random {

// Any thread. Bytes of getrandom(2), fit for keys.
bytes secure_bytes(i64 n, const site* here = nullptr);

} // namespace eve::random

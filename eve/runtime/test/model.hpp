#pragma once
// The seeded scheduler of model builds (-DEVE_MODEL). All threads of a program run on one thread,
// one at a time, and at every atomic operation the seed decides which one goes on. The same seed
// gives the same run. It finds errors of order; errors of memory order are for ThreadSanitizer.
#include "../base.hpp"

namespace eve::model {

// Runs the body and the threads that it starts to their ends, as the seed says. Ends the process
// with status 1 when no thread can go on, or when it takes too many steps.
void run(u64 seed, void (*body)());
// Runs it in all orders with at most this many voluntary switches. Returns the number of orders.
u64 explore(void (*body)(), int switches);
// The current run of explore or run, for messages.
void describe(char* text, usize size);
u64 steps_in_all();

} // namespace eve::model

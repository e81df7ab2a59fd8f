#pragma once
// The seeded scheduler of the model builds (-DEVE_MODEL): all threads of a program run one at a
// time on one, and at every atomic operation the seed decides who goes on. The same seed gives the
// same run. It finds errors of order, not of memory order: those are for ThreadSanitizer.
#include "../base.hpp"

namespace eve::model {

// Runs the body and the threads that it starts to their ends, as the seed says. Ends the process
// with status 1 when nobody can go on, or when it takes too many steps.
void run(u64 seed, void (*body)());
// Runs it in all orders with at most so many switches that nobody needed. The number of orders.
u64 explore(void (*body)(), int switches);
// What explore or run is at, for messages.
void describe(char* text, usize size);
u64 steps_in_all();

} // namespace eve::model

#pragma once
// Helpers of the core's tests: a check that ends the process, and running one body many times, on
// real threads or under the seeds of the model.
#include "../runtime.hpp"

namespace eve::test {

// If false, prints the text with the seed and ends the process with status 1.
void expect(bool holds, const char* text);
// A number of the current round: the same in every run of the round.
u32 random_below(u32 n);
// Spends some time in which other threads may run.
void delay();

// Runs the body as the first root of a whole runtime, in many rounds with 1 to 4 workers. Under
// the model a round is a seed; EVE_SEED=n runs that one only, EVE_TIMES=n n times as many rounds.
// `after` checks the state when all has ended.
void rounds(const char* name, int model_rounds, int real_rounds, void (*body)(worker*, frame*),
            void (*after)());

} // namespace eve::test

#pragma once
// The process: its start and its ends.
#include "worker.hpp"

namespace eve {

// Runs `start` on the first worker, and everything that follows from it, until no task is left and
// nothing is armed. The result is the exit status. Reads EVE_WORKERS, EVE_BUDGET and EVE_TRACE.
int run(int argc, char** argv, void (*start)(worker*, frame*));

// Before run: any failure ends the process, also a contained one. So tests want it.
void contain_nothing() noexcept;

// The arguments given to run.
int argument_count() noexcept;
char** arguments() noexcept;

// Called once at any end of the process, last one first: output is flushed so.
struct end_hook {
    void (*call)() noexcept;
    end_hook* next = nullptr;
};
void at_end(end_hook* hook) noexcept;

// Any thread. Runs the hooks and ends the process.
[[noreturn]] void end_process(int status) noexcept;

} // namespace eve

#pragma once
// The process: how it starts and how it ends.
#include "worker.hpp"

namespace eve {

// Runs `start` on the first worker, and all that it spawns, until no task is left and nothing is
// armed. Returns the exit status. Reads EVE_WORKERS, EVE_BUDGET, EVE_TRACE and EVE_RECORD.
int run(int argc, char** argv, void (*start)(worker*, frame*));

// Before run. Any failure then ends the process, also a contained one. Used by tests.
void contain_nothing() noexcept;

// The arguments that run was called with.
int argument_count() noexcept;
char** arguments() noexcept;

// Called once at any end of the process, in reverse order of registration. Output is flushed this
// way.
struct end_hook {
    void (*call)() noexcept;
    end_hook* next = nullptr;
};
void at_end(end_hook* hook) noexcept;

// Any thread. Runs the hooks and ends the process.
[[noreturn]] void end_process(int status) noexcept;

} // namespace eve

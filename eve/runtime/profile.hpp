#pragma once
// Profiles of a run, for `eve profile`: on which call stacks the workers spend their processor
// time. EVE_PROFILE=FILE turns it on, EVE_PROFILE_RATE=N takes N samples a second of processor
// time (997; the kernel may take fewer, and says how many it left out). A program that is not
// profiled has none of it but these calls.
//
// A timer of each worker's own clock sends it SIGPROF. The handler walks the frame pointers and
// counts the stack in a table of the worker, which is bounded: what does not fit is counted too.
// A place that is on a stack several times, as in a recursion, is on it once.
#include "worker.hpp"

namespace eve {

// Before the workers start, and after they have ended.
void open_profile() noexcept;
void close_profile() noexcept;
// On the worker's thread, when it starts and when it has ended.
void profile_worker(worker* w) noexcept;
void unprofile_worker() noexcept;

} // namespace eve

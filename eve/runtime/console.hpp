#pragma once
// stdout and stderr as Eve objects, and print.
#include "object.hpp"
#include "output.hpp"

namespace eve {

extern ref<output> the_stdout;
extern ref<output> the_stderr;

// Under write permission on the_stdout.
inline void print(const string& text) noexcept { the_stdout->write(text); }

} // namespace eve

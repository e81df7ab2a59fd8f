#pragma once
// Files about a run that are written when the process ends: at its end, when SIGINT, SIGTERM or
// SIGHUP end it, and at a stack overflow. SIGQUIT asks for them, and the process goes on.
//
//   save_at_end(save_recording);
#include "base.hpp"

namespace eve {

using save_file = void (*)() noexcept;

// Before the workers start. The function is called by one thread at a time, perhaps in a signal
// handler. At most two.
void save_at_end(save_file f) noexcept;
// After the workers have ended: none is saved from now on.
void forget_saves() noexcept;
// Any thread, and in a signal handler.
void save_all() noexcept;

} // namespace eve

#pragma once
// Everything that reaches outside of the process: sockets, timers, signals, input, and what
// may be awaited.
#include "async.hpp"
#include "input.hpp"
#include "process.hpp"
#include "socket.hpp"
#include "timer.hpp"

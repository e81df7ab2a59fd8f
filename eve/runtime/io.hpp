#pragma once
// Input and output: sockets, timers, signals, standard input, and operations to await.
#include "async.hpp"
#include "input.hpp"
#include "process.hpp"
#include "socket.hpp"
#include "timer.hpp"

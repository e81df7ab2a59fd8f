#pragma once
// All of the runtime that generated code uses; api.md says how.
#include "forkjoin.hpp"
#include "runtime.hpp"
#include "scope.hpp"

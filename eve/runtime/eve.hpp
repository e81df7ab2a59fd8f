#pragma once
// All of the runtime that generated code uses; api.md says how.
#include "array.hpp"
#include "failure.hpp"
#include "forkjoin.hpp"
#include "function.hpp"
#include "handle.hpp"
#include "instant.hpp"
#include "map.hpp"
#include "math.hpp"
#include "output.hpp"
#include "runtime.hpp"
#include "scope.hpp"
#include "set.hpp"

#pragma once
// The trait of handles for containers: the zero value of T@ is a new object with T's zero value.
#include "object.hpp"
#include "value.hpp"

namespace eve {

template <class T> struct zero<ref<T>> {
    static ref<T> make() { return eve::make<T>(zero_of<T>()); }
};

} // namespace eve

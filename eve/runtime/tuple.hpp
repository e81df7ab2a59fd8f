#pragma once
// tuple<Ts...>: Eve's (A, B). It has get<I>(t), comparison from the first element on, copy and
// hash_value.
#include "hash.hpp"

namespace eve {

template <class... Ts> struct tuple;

template <> struct tuple<> {
    tuple copy() const noexcept { return {}; }
    u64 hash_value() const noexcept { return 0; }
    friend bool operator==(const tuple&, const tuple&) noexcept { return true; }
    friend bool operator<(const tuple&, const tuple&) noexcept { return false; }
};

template <class Head> struct tuple<Head> {
    Head head;
    tuple() : head(zero_of<Head>()) {}
    tuple(Head h) : head(static_cast<Head&&>(h)) {}
    tuple copy() const { return tuple(copy_of(head)); }
    u64 hash_value() const { return hash_of(head); }
    friend bool operator==(const tuple& a, const tuple& b) { return a.head == b.head; }
    friend bool operator<(const tuple& a, const tuple& b) { return a.head < b.head; }
};

template <class Head, class Next, class... Rest> struct tuple<Head, Next, Rest...> {
    Head head;
    tuple<Next, Rest...> tail;
    tuple() : head(zero_of<Head>()) {}
    tuple(Head h, Next n, Rest... rest)
        : head(static_cast<Head&&>(h)), tail(static_cast<Next&&>(n), static_cast<Rest&&>(rest)...) {
    }
    tuple(Head h, tuple<Next, Rest...>&& t)
        : head(static_cast<Head&&>(h)), tail(static_cast<tuple<Next, Rest...>&&>(t)) {}
    tuple copy() const { return tuple(copy_of(head), tail.copy()); }
    u64 hash_value() const { return hash_join(hash_of(head), tail.hash_value()); }
    friend bool operator==(const tuple& a, const tuple& b) {
        return a.head == b.head && a.tail == b.tail;
    }
    friend bool operator<(const tuple& a, const tuple& b) {
        return a.head < b.head || (!(b.head < a.head) && a.tail < b.tail);
    }
};

template <class... Ts> bool operator>(const tuple<Ts...>& a, const tuple<Ts...>& b) {
    return b < a;
}
template <class... Ts> bool operator<=(const tuple<Ts...>& a, const tuple<Ts...>& b) {
    return !(b < a);
}
template <class... Ts> bool operator>=(const tuple<Ts...>& a, const tuple<Ts...>& b) {
    return !(a < b);
}

// Element I, from 0. That of a temporary may be moved.
template <int I, class... Ts> constexpr auto& get(tuple<Ts...>& t) noexcept {
    if constexpr (I == 0) return t.head;
    else return get<I - 1>(t.tail);
}
template <int I, class... Ts> constexpr const auto& get(const tuple<Ts...>& t) noexcept {
    if constexpr (I == 0) return t.head;
    else return get<I - 1>(t.tail);
}
template <int I, class... Ts> constexpr auto&& get(tuple<Ts...>&& t) noexcept {
    if constexpr (I == 0) return static_cast<decltype(t.head)&&>(t.head);
    else return get<I - 1>(static_cast<decltype(t.tail)&&>(t.tail));
}

template <class... Ts> tuple<Ts...> make_tuple(Ts... xs) {
    return tuple<Ts...>(static_cast<Ts&&>(xs)...);
}

} // namespace eve

#pragma once
// choice<A, B, C>: an Eve union, which holds one of several structs. Generated unions derive from
// it:
//
//   struct chat__shape : choice<chat__shape__circle, chat__shape__empty> { using choice::choice; };
//   if (s.tag() == 0) use(s.get<0>().radius);
//
// Owner only, like every value.
#include "hash.hpp"
#include "value.hpp"

namespace eve {

namespace detail {

template <class... Ts> struct storage_of;
template <> struct storage_of<> { static constexpr usize size = 1, align = 1; };
template <class T, class... Ts> struct storage_of<T, Ts...> {
    static constexpr usize size = sizeof(T) > storage_of<Ts...>::size ? sizeof(T)
                                                                      : storage_of<Ts...>::size;
    static constexpr usize align = alignof(T) > storage_of<Ts...>::align ? alignof(T)
                                                                         : storage_of<Ts...>::align;
};

template <int I, class T, class... Ts> struct nth_of {
    using type = typename nth_of<I - 1, Ts...>::type;
};
template <class T, class... Ts> struct nth_of<0, T, Ts...> { using type = T; };

template <class T, class First, class... Ts> constexpr int place_of() {
    if constexpr (__is_same(T, First)) return 0;
    else return 1 + place_of<T, Ts...>();
}

} // namespace detail

template <class... Cases> class choice {
    template <int I> using nth = typename detail::nth_of<I, Cases...>::type;

public:
    // The zero value is that of the first case.
    choice() : tag_(0) { new (place{bytes_}) nth<0>(); }
    template <class T>
    requires(__is_same(T, Cases) || ...) choice(T x) : tag_(detail::place_of<T, Cases...>()) {
        new (place{bytes_}) T(static_cast<T&&>(x));
    }
    choice(const choice& o) : tag_(o.tag_) {
        visit([&]<int I>() { new (place{bytes_}) nth<I>(copy_of(o.template get<I>())); });
    }
    choice(choice&& o) noexcept : tag_(o.tag_) {
        visit([&]<int I>() {
            new (place{bytes_}) nth<I>(static_cast<nth<I>&&>(o.template get<I>()));
        });
    }
    choice& operator=(const choice& o) {
        choice fresh(o);
        exchange(fresh);
        return *this;
    }
    choice& operator=(choice&& o) noexcept {
        choice fresh(static_cast<choice&&>(o));
        exchange(fresh);
        return *this;
    }
    ~choice() {
        visit([&]<int I>() { get<I>().~nth<I>(); });
    }

    // The number of the case that it holds, from 0.
    int tag() const noexcept { return tag_; }
    // The value of case I. The caller has checked tag().
    template <int I> nth<I>& get() noexcept {
        return *__builtin_launder(reinterpret_cast<nth<I>*>(bytes_));
    }
    template <int I> const nth<I>& get() const noexcept {
        return *__builtin_launder(reinterpret_cast<const nth<I>*>(bytes_));
    }

    u64 hash_value() const {
        u64 h = 0;
        visit([&]<int I>() { h = hash_join(u64(I), hash_of(get<I>())); });
        return h;
    }
    void print_to(auto& f, const auto& how) const {
        visit([&]<int I>() { get<I>().print_to(f, how); });
    }
    friend bool operator==(const choice& a, const choice& b) {
        bool same = a.tag_ == b.tag_;
        if (same) a.visit([&]<int I>() { same = a.template get<I>() == b.template get<I>(); });
        return same;
    }

private:
    // Calls f with the value of the case that it holds.
    template <int I = 0, class F> void visit(F&& f) const {
        if constexpr (I + 1 == int(sizeof...(Cases))) f.template operator()<I>();
        else if (tag_ == I) f.template operator()<I>();
        else visit<I + 1>(f);
    }
    // No value points into itself, so bytes may be exchanged.
    void exchange(choice& o) noexcept {
        alignas(choice) unsigned char kept[sizeof(choice)];
        __builtin_memcpy(kept, static_cast<void*>(this), sizeof kept);
        __builtin_memcpy(static_cast<void*>(this), static_cast<void*>(&o), sizeof kept);
        __builtin_memcpy(static_cast<void*>(&o), kept, sizeof kept);
    }

    alignas(detail::storage_of<
            Cases...>::align) unsigned char bytes_[detail::storage_of<Cases...>::size];
    int tag_;
};

} // namespace eve

#pragma once
// fn<R(A...)>: Eve's <(A) R>, a closure that is called only within the call that it is passed to.
// It is two words and does not own its captures. callback<R(A...)>: Eve's <(A) R>@, a closure that
// outlives the call. It is counted, copied freely, and called by a task of its own.
#include "value.hpp"

namespace eve {

template <class F> class fn;

template <class R, class... As> class fn<R(As...)> {
public:
    // body must outlive the fn.
    template <class F>
    requires(!__is_same(bare<F>, fn)) fn(F&& body)
    noexcept
        : body_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(body)))),
          call_([](void* b, As... as) -> R {
              return (*static_cast<typename referred_of<F>::type*>(b))(static_cast<As&&>(as)...);
          }) {}
    R operator()(As... as) const { return call_(body_, static_cast<As&&>(as)...); }

private:
    void* body_;
    R (*call_)(void*, As...);
};

// answer.hpp: what answers the call of a `<-` function, and the wait of its caller.
class awaited;
template <class R> class replier;
template <class F> inline constexpr bool is_answer = false;
template <class R> inline constexpr bool is_answer<replier<R>> = true;

// The counted storage of a callback.
struct callback_body {
    u32 count = 1;
    // Ends it; or returns the wait that a call of it answers, null if that is none.
    awaited* (*manage)(callback_body*, bool end) noexcept;
    explicit callback_body(awaited* (*m)(callback_body*, bool) noexcept) noexcept : manage(m) {}
};

template <class F> class callback;

template <class R, class... As> class callback<R(As...)> {
    template <class F> struct body : callback_body {
        R (*call)(callback_body*, As...);
        F f;
        explicit body(F&& g)
            : callback_body([](callback_body* b, bool end) noexcept -> awaited* {
                  if (end) {
                      static_cast<body*>(b)->~body();
                      buffer_free(b);
                      return nullptr;
                  }
                  if constexpr (is_answer<F>) return static_cast<body*>(b)->f.wait();
                  else return nullptr;
              }),
              call([](callback_body* b, As... as) -> R {
                  return static_cast<body*>(b)->f(static_cast<As&&>(as)...);
              }),
              f(static_cast<F&&>(g)) {}
    };
    struct nothing {
        R operator()(As...) const {
            if constexpr (!__is_same(R, void)) return R();
        }
    };

public:
    // The zero value: a call of it does nothing. Eve has none, so an option uses it for none.
    callback() noexcept = default;
    explicit callback(niche) noexcept {}
    template <class F>
    requires(!__is_same(bare<F>, callback)) callback(F f)
        : held_(new (place{buffer_new(1, sizeof(body<F>))}) body<F>(static_cast<F&&>(f))) {}
    callback(const callback& o) noexcept : held_(o.held_) {
        if (held_ != nullptr) __atomic_fetch_add(&held_->count, 1u, __ATOMIC_RELAXED);
    }
    callback(callback&& o) noexcept : held_(o.held_) { o.held_ = nullptr; }
    callback& operator=(callback o) noexcept {
        callback_body* old = held_;
        held_ = o.held_;
        o.held_ = old;
        return *this;
    }
    ~callback() {
        if (held_ != nullptr && __atomic_fetch_sub(&held_->count, 1u, __ATOMIC_ACQ_REL) == 1)
            held_->manage(held_, true);
    }

    // Called by the task that was posted for it.
    R operator()(As... as) const {
        if (held_ == nullptr) return nothing{}(static_cast<As&&>(as)...);
        return static_cast<body<nothing>*>(held_)->call(held_, static_cast<As&&>(as)...);
    }
    // The wait that a call of it answers; null if that is none.
    awaited* wait() const noexcept {
        return held_ != nullptr ? held_->manage(held_, false) : nullptr;
    }
    bool is_niche() const noexcept { return held_ == nullptr; }
    friend bool same(const callback& a, const callback& b) noexcept { return a.held_ == b.held_; }

private:
    callback_body* held_ = nullptr;
};

} // namespace eve

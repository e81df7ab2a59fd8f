#pragma once
// A C function that may block, as `x <- f()`. It runs on a pool thread, and its result comes back
// to a worker.
//
//   await(slow<u64>([n] { return compressBound(n); }), rest_3{}, contained);
#include "async.hpp"
#include "pool.hpp"

namespace eve {

template <class R, class F> class slow_call final : public operation_for<R>, blocking_call {
public:
    using typename operation_for<R>::value;

    explicit slow_call(F&& f) noexcept : f_(move(f)) {}
    void begin() override { run_blocking(*this); }
    // A C call cannot be interrupted. Its result is dropped.
    void cancel() noexcept override {}

private:
    void block() noexcept override {
        if constexpr (__is_same(value, nothing)) {
            f_();
            value_ = option<value>(nothing{});
        } else {
            value_ = option<value>(f_());
        }
        spawn([this](worker*, frame*) {
            this->done(value_.take());
            this->drop();
        });
    }
    void end() noexcept override { destroy(this); }

    F f_;
    option<value> value_;
};

// Worker threads only. f must touch only data that it owns.
template <class R, class F> async<R> slow(F f) {
    return async<R>(create<slow_call<R, F>>(move(f)));
}

} // namespace eve

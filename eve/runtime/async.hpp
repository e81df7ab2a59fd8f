#pragma once
// `x <- f()`: asynchronous operations. The statements behind it in the block are the continuation,
// a root with a list of its own.
//
//   await(sleep(1'000'000'000), rest_3{c}, contained, write(c));
#include "fake_time.hpp"
#include "result.hpp"
#include "worker.hpp"

namespace eve {

// An operation under way. It is counted, and lives while it or its awaiter needs it.
class operation {
public:
    operation() noexcept {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    // Worker threads only. Starts the operation. done is called once, now or later, on some
    // worker.
    virtual void begin() = 0;
    // Inside of the loop of the worker that began it: the result is not wanted any more. The
    // operation ends as soon as it can, with or without a call of done.
    virtual void cancel() noexcept = 0;
    void keep() noexcept { count_.fetch_add(1, order::relaxed); }
    void drop() noexcept {
        if (count_.fetch_sub(1, order::acq_rel) == 1) end();
    }

protected:
    ~operation() = default;
    virtual void end() noexcept = 0;

private:
    atomic<u32> count_{1};
};

// The value of an operation without a result, such as `x <- sleep(d)`.
struct nothing {};
template <class R> struct value_of { using type = R; };
template <> struct value_of<void> { using type = nothing; };

// The time limit of an awaiter.
struct deadline;
// Worker threads only. The answer came in time: cancels the deadline.
void cancel_deadline(deadline* d) noexcept;

template <class R> class operation_for : public operation {
public:
    using value = typename value_of<R>::type;
    // Worker threads only. Hands the value over, unless the deadline has completed the operation.
    void done(value x) {
        if (try_complete()) {
            if (limit_) cancel_deadline(limit_);
            deliver_(this, move(x));
        }
        disarm();
    }
    // Returns true to the first caller only.
    bool try_complete() noexcept { return completed_.exchange(1, order::acq_rel) == 0; }

    void (*deliver_)(operation_for*, value&&) = nullptr;
    task* then_ = nullptr;
    deadline* limit_ = nullptr;

private:
    atomic<u32> completed_;
};

// The result of an async native. It owns the operation, which await begins.
template <class R> class async {
public:
    explicit async(operation_for<R>* what) noexcept : what_(what) {}
    async(async&& other) noexcept : what_(other.what_) { other.what_ = nullptr; }
    async& operator=(async&&) = delete;
    ~async() {
        if (what_) what_->drop();
    }
    operation_for<R>* take() noexcept {
        operation_for<R>* what = what_;
        what_ = nullptr;
        return what;
    }

private:
    operation_for<R>* what_;
};

// Lives while a continuation runs with the value that it received.
template <class R> struct received {
    explicit received(const R&) noexcept {}
};
template <> struct received<nothing> {
    explicit received(nothing) noexcept {}
};

// A continuation as a root. `value` is set before it is enqueued.
template <class V, class K, int N> struct continuation : task {
    slot slots_[N > 0 ? N : 1];
    K body_;
    option<V> value_;

    continuation(K&& body, bool kept) : task{&kind_of}, body_(move(body)) { contained = kept; }
    static void run(task* t, worker* w, frame* top) {
        auto* c = static_cast<continuation*>(t);
        received<V> meanwhile(*c->value_);
        if constexpr (__is_same(V, nothing)) c->body_(w, top);
        else c->body_(w, top, *c->value_);
    }
    static void end(task* t) noexcept { destroy(static_cast<continuation*>(t)); }
    static constexpr task_kind kind_of = {run, end, code_of<K>};
};

template <class V, class K, class... Grants>
continuation<V, bare<K>, sizeof...(Grants)>* make_continuation(K&& body, bool contained,
                                                               Grants... grants) {
    constexpr int n = sizeof...(Grants);
    grant list[n > 0 ? n : 1] = {grants...};
    auto* c = create<continuation<V, bare<K>, n>>(bare<K>(forward<K>(body)), contained);
    fill(c, c->slots_, list, n);
    return c;
}

// Worker threads only. The continuation runs once, later, with the value.
template <class R, class K, class... Grants>
void await(async<R> call, K&& body, bool contained, Grants... grants) {
    using V = typename value_of<R>::type;
    using C = continuation<V, bare<K>, sizeof...(Grants)>;
    operation_for<R>* what = call.take();
    what->then_ = make_continuation<V>(forward<K>(body), contained, grants...);
    what->deliver_ = [](operation_for<R>* o, V&& x) {
        auto* c = static_cast<C*>(o->then_);
        c->value_ = option<V>(move(x));
        enqueue(c);
    };
    arm();
    what->begin();
}

template <class R> struct in_time_of { using type = result<R>; };
template <class T> struct in_time_of<result<T>> { using type = result<T>; };

error timed_out();
// Begins the operation, and calls `late` with it when the duration is over, inside of this
// worker's loop. `late` returns whether it completed the operation. The deadline, stored in
// `place`, owns a count of the operation until then, or until cancel_deadline.
void begin_within(operation* what, deadline*& place, duration limit, bool (*late)(operation*));

// The same, but after `limit` the continuation gets error(timeout), and a later result is dropped.
template <class R, class K, class... Grants>
void await_within(async<R> call, duration limit, K&& body, bool contained, Grants... grants) {
    using V = typename value_of<R>::type;
    using T = typename in_time_of<R>::type;
    using C = continuation<T, bare<K>, sizeof...(Grants)>;
    operation_for<R>* what = call.take();
    what->then_ = make_continuation<T>(forward<K>(body), contained, grants...);
    what->deliver_ = [](operation_for<R>* o, V&& x) {
        auto* c = static_cast<C*>(o->then_);
        if constexpr (__is_same(R, void)) c->value_ = option<T>(T());
        else c->value_ = option<T>(T(move(x)));
        enqueue(c);
    };
    arm();
    what->keep();
    begin_within(what, what->limit_, limit, [](operation* o) {
        auto* late = static_cast<operation_for<R>*>(o);
        if (!late->try_complete()) return false;
        auto* c = static_cast<C*>(late->then_);
        c->value_ = option<T>(T(timed_out()));
        late->cancel(); // first: what it starts is in its queues before the caller goes on
        enqueue(c);
        return true;
    });
}

// `_ <- sleep(1s)`
async<void> sleep(duration d);
// The same; in fake time it ends behind all timers of that moment, and behind what they cause.
async<void> sleep_last(duration d);

} // namespace eve

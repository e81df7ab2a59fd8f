#pragma once
// The answer of a `<-` function that is written in Eve. Its caller waits for an operation, which
// the first call of the callback `answer` completes.
//
//   auto* t1_ = create<answering<i64>>();
//   async<i64> t2_(t1_);
//   shop__price(name, replier<i64>(t1_));
//   await(move(t2_), rest_3{c}, contained, write(c));
#include "async.hpp"
#include "function.hpp"

namespace eve {

// The error for a caller whose answer nobody can give any more.
error no_answer();

template <class R> inline constexpr bool may_fail = false;
template <class T> inline constexpr bool may_fail<result<T>> = true;

// The wait for an answer. Others may ask to be told if its caller gives up.
class awaited {
public:
    awaited() noexcept {}
    awaited(const awaited&) = delete;
    awaited& operator=(const awaited&) = delete;

    // Worker threads only. Ends when the caller has given up, because its time is over. If there is
    // an answer first, what waits for this is dropped.
    async<void> unwanted();

protected:
    ~awaited() { settle(false); }
    // The wait is over. The first call counts.
    void settle(bool given_up) noexcept;

private:
    struct watcher;
    // Never in a list: the wait is over, with an answer or without one.
    static watcher* settled(bool given_up) noexcept;

    atomic<watcher*> watchers_; // a list
};

// The operation. It has counts of the async<R> or await, and of each replier. The function may
// answer before await begins it, on any worker.
template <class R> class answering final : public operation_for<R>, public awaited {
public:
    using typename operation_for<R>::value;

    // Worker threads only. The first answer counts, the others are dropped.
    void answer(value x) {
        if (asked_.exchange(1, order::acq_rel) != 0) return;
        value_ = option<value>(move(x));
        if (state_.fetch_or(answered, order::acq_rel) & begun) hand_over();
    }
    // No callback is left.
    void forget() noexcept {
        if (asked_.exchange(1, order::acq_rel) != 0) return;
        if (state_.fetch_or(forgotten, order::acq_rel) & begun) give_up();
    }
    void begin() override {
        // The tasks that will answer keep the process alive, and the wait for them does not. A
        // deadline does, until it is over.
        armed_ = this->limit_ != nullptr;
        if (armed_) the_fake_clock.count(1);
        else disarm();
        u32 was = state_.fetch_or(begun, order::acq_rel);
        if (was & answered) hand_over();
        else if (was & forgotten) give_up();
    }
    // The function goes on, and its answer is dropped.
    void cancel() noexcept override {
        this->settle(true);
        release();
    }

private:
    static constexpr u32 begun = 1, answered = 2, forgotten = 4;

    void hand_over() {
        if (this->try_complete()) {
            this->settle(false); // else the caller has given up, and cancel does it
            if (this->limit_ != nullptr) cancel_deadline(this->limit_);
            this->deliver_(this, value_.take());
        }
        release();
    }
    // There will be no answer. A continuation that takes an error gets one. Another one never runs,
    // unless its deadline runs it.
    void give_up() noexcept {
        if constexpr (may_fail<R>) {
            value_ = option<value>(value(no_answer()));
            hand_over();
        } else if (this->limit_ == nullptr && this->try_complete()) {
            this->then_->kind->end(this->then_);
            release();
        }
    }
    // Gives back the count of await, once.
    void release() noexcept {
        if (released_.exchange(1, order::acq_rel) != 0) return;
        if (armed_) {
            the_fake_clock.count(-1);
            disarm();
        }
        this->drop();
    }
    void end() noexcept override { destroy(this); }

    atomic<u32> state_;
    atomic<u32> asked_; // it was answered or forgotten
    atomic<u32> released_;
    bool armed_ = false;
    option<value> value_; // of the thread that set asked_, until `answered` is set
};

// What the callback calls.
template <class R> class replier {
public:
    explicit replier(answering<R>* to) noexcept : to_(to) { to_->keep(); }
    replier(replier&& other) noexcept : to_(other.to_) { other.to_ = nullptr; }
    replier(const replier&) = delete;
    replier& operator=(replier&&) = delete;
    ~replier() {
        if (to_ == nullptr) return;
        to_->forget();
        to_->drop();
    }
    // What a callback that is made of this answers.
    awaited* wait() const noexcept { return to_; }
    template <class... As> void operator()(As&&... as) const {
        using value = typename answering<R>::value;
        to_->answer(value(forward<As>(as)...));
    }

private:
    answering<R>* to_;
};

// For a callback that answers nobody.
async<void> never();

// `_ <- unwanted(answer)`
template <class... As> async<void> unwanted(const callback<void(As...)>& answer) {
    awaited* wait = answer.wait();
    return wait != nullptr ? wait->unwanted() : never();
}

} // namespace eve

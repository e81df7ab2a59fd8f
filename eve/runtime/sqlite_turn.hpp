#pragma once
// The turns of the calls on one connection: one after the other, in the order in which they came.
// A turn runs on a thread of the pool.
#include "lock.hpp"
#include "pool.hpp"
#include "waiting.hpp"

namespace eve::db::sqlite {

class turn : public blocking_call, public in_line<turn> {
public:
    turn() noexcept {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

protected:
    ~turn() = default;
};

// Any thread, all methods.
class turns {
public:
    turns() noexcept {}
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;

    // Runs the turn when those before it have ended. True: at once.
    bool enter(turn& t) noexcept {
        {
            locked l(guard_);
            if (taken_) {
                line_.join(t);
                return false;
            }
            taken_ = true;
        }
        run_blocking(t);
        return true;
    }
    // The turn under way has ended.
    void leave() noexcept {
        turn* next;
        {
            locked l(guard_);
            next = line_.pop();
            taken_ = next != nullptr;
        }
        if (next != nullptr) run_blocking(*next);
    }
    // Takes a turn that waits out of the list. False: it does not wait any more.
    bool give_up(turn& t) noexcept {
        locked l(guard_);
        return line_.remove(t);
    }

private:
    spin_lock guard_;
    bool taken_ = false; // under the guard, as all below
    waiting_line<turn> line_;
};

} // namespace eve::db::sqlite

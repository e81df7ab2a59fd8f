#pragma once
// The turns of the calls on one connection: one after the other, in the order in which they came.
// A turn runs on a thread of the pool.
#include "lock.hpp"
#include "pool.hpp"

namespace eve::db::sqlite {

class turn : public blocking_call {
public:
    turn() noexcept {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

protected:
    ~turn() = default;

private:
    friend class turns;
    turn* next_turn_ = nullptr; // under the guard of the turns
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
                t.next_turn_ = nullptr;
                *end_ = &t;
                end_ = &t.next_turn_;
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
            next = first_;
            taken_ = next != nullptr;
            if (next != nullptr) first_ = next->next_turn_;
            if (first_ == nullptr) end_ = &first_;
        }
        if (next != nullptr) run_blocking(*next);
    }
    // Takes a turn that waits out of the list. False: it does not wait any more.
    bool give_up(turn& t) noexcept {
        locked l(guard_);
        for (turn** at = &first_; *at != nullptr; at = &(*at)->next_turn_) {
            if (*at != &t) continue;
            *at = t.next_turn_;
            if (*at == nullptr) end_ = at;
            return true;
        }
        return false;
    }

private:
    spin_lock guard_;
    bool taken_ = false; // under the guard, as all below
    turn* first_ = nullptr;
    turn** end_ = &first_;
};

} // namespace eve::db::sqlite

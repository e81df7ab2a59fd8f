#pragma once
// Sessions for operations: those of a pool, up to some number, or the one of a transaction. An
// operation that finds none waits in line, and gets one in its turn.
#include "lock.hpp"
#include "postgres_session.hpp"
#include "waiting.hpp"

namespace eve::db::postgres {

// An operation that waits. It lives until `served` has been called, or it has left the line.
class waiter : public in_line<waiter> {
public:
    waiter() noexcept {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    // Any thread, once, without a lock: `turn` says what has come.
    virtual void served() noexcept = 0;

    enum class got : u8 { session, room, nothing };
    // Written before `served`. `room`: it may open a session. `nothing`: the supply has ended.
    got turn = got::nothing;
    session* own = nullptr;

protected:
    ~waiter() = default;
};

// Any thread, all methods.
class supply {
public:
    // The most sessions that it may open. 0: it only has what it is given.
    explicit supply(i64 most) noexcept : most_(most) {}
    supply(const supply&) = delete;
    supply& operator=(const supply&) = delete;
    ~supply() { end(); }

    // True: `turn` says what the waiter has. False: `served` will be called.
    bool take(waiter& w) noexcept {
        locked l(guard_);
        if (ended_) {
            w.turn = waiter::got::nothing;
        } else if (idle_ != nullptr) {
            hand_over(w);
        } else if (open_ < most_) {
            open_++;
            w.turn = waiter::got::room;
        } else {
            line_.join(w);
            return false;
        }
        return true;
    }
    // A session is not needed any more.
    void give(session* s) noexcept {
        waiter* next = nullptr;
        {
            locked l(guard_);
            if (!ended_) {
                s->next_idle = idle_;
                idle_ = s;
                s = nullptr;
                next = line_.pop();
                if (next != nullptr) hand_over(*next);
            }
        }
        if (s != nullptr) destroy(s);
        if (next != nullptr) next->served();
    }
    // A session that was taken has gone, or was not opened.
    void lose() noexcept {
        waiter* next;
        {
            locked l(guard_);
            next = ended_ ? nullptr : line_.pop();
            if (next != nullptr) next->turn = waiter::got::room;
            else open_--;
        }
        if (next != nullptr) next->served();
    }
    // Takes an idle session away for good. Null: there is none.
    session* withdraw() noexcept {
        locked l(guard_);
        session* s = idle_;
        if (s != nullptr) idle_ = s->next_idle;
        return s;
    }
    // Takes a waiter out of the line. False: it does not wait any more.
    bool give_up(waiter& w) noexcept {
        locked l(guard_);
        return line_.remove(w);
    }
    // Nobody gets a session any more. False: it had ended before.
    bool end() noexcept {
        session* gone;
        waiting_line<waiter> left;
        {
            locked l(guard_);
            if (ended_) return false;
            ended_ = true;
            gone = idle_;
            idle_ = nullptr;
            left.take(line_);
        }
        while (gone != nullptr) {
            session* s = gone;
            gone = s->next_idle;
            destroy(s);
        }
        while (waiter* w = left.pop()) {
            w->turn = waiter::got::nothing;
            w->served();
        }
        return true;
    }

private:
    void hand_over(waiter& w) noexcept {
        w.turn = waiter::got::session;
        w.own = idle_;
        idle_ = idle_->next_idle;
    }

    const i64 most_;
    spin_lock guard_;
    bool ended_ = false;      // under the guard, as all below
    i64 open_ = 0;            // sessions that are idle or taken, and those that are being opened
    session* idle_ = nullptr; // the one used last comes first
    waiting_line<waiter> line_;
};

} // namespace eve::db::postgres

#pragma once
// An operation on a database, from its begin to its answer: it gets a session, sends a batch on it,
// and gives it back. It belongs to the loop of the worker that began it, which watches the
// descriptor of the session. A thread of the pool makes the steps that connect, and the call that
// cancels.
//
//     queueing --> connecting --> talking --> clearing --> over
//
// A session that was idle need not connect. Clearing rolls back a transaction that was left open.
#include "loop.hpp"
#include "postgres.hpp"

namespace eve::db::postgres {

class work : public channel, public timer_node, public waiter, public blocking_call {
public:
    u8 wanted() const noexcept override { return waiting_; }
    void ready(loop& on, u8 events) override;
    void mailed(loop& on, u32 what) override;
    void expire(loop& on, i64 now_ns) override;
    void served() noexcept override { home->mail(*this, mail_start); }

protected:
    // Without a transaction, `within` is null.
    work(ref<source> of, ref<transaction> within, const char* what) noexcept
        : channel(kind::other), of_(move(of)), within_(move(within)), what_(what) {}
    ~work() = default;

    // Owner only, in a body or inside.
    void queue() noexcept;
    // Inside only. Ends as soon as it can.
    void give_up() noexcept;
    // Inside only. Begins on a session that it has, within some seconds.
    void begin_hurried(loop& on);

    // Inside only, all three. Sends what is to be said: an error, or nothing to say, ends it.
    virtual fault launch() { return requests_.empty() ? fault() : own->send(requests_, reply_); }
    // Hands the session, which is sound, over to the next operation.
    virtual void pass_on() noexcept;
    // Hands the result over.
    virtual void over() = 0;

    ref<source> of_;
    ref<transaction> within_;
    const char* what_; // its name in errors
    vector<request> requests_;
    bool is_script_ = false;
    bool begins_ = false; // a transaction that outlasts it
    reply reply_;
    fault fault_;

private:
    enum class phase : u8 { queueing, connecting, talking, clearing };

    supply& line() noexcept { return within_ ? within_->sessions() : of_->sessions(); }
    void take_turn(loop& on);
    void advance(loop& on);
    void stepped(loop& on);
    void begin_to_talk(loop& on);
    void step(loop& on);
    void ask_to_cancel(loop& on) noexcept;
    void clear(loop& on);
    i64 latest_end() const noexcept; // of a cancelled statement or a rollback that begins now
    void end_with(fault why);
    void watch(loop& on, progress until);
    bool unwatch(loop& on) noexcept;
    void lose_session() noexcept;
    void block() noexcept override;

    // Inside only, but for the guard of the first.
    u8 waiting_ = 0;        // conditions of the descriptor; 0: it is not watched
    bool retiring_ = false; // the ring still has requests for the descriptor
    bool blocking_ = false; // a thread of the pool is at work
    bool unwanted_ = false;
    bool late_ = false;      // the time of the phase is over
    bool answered_ = false;  // the batch is over
    bool broken_ = false;    // the session is of no use any more
    bool cancelled_ = false; // the server was asked to cancel the batch
    phase phase_ = phase::queueing;
    progress progress_ = progress::writing; // of the last step of connecting
    i64 until_ns_ = 0;
    pg_cancel* by_ = nullptr;
    reply cleared_;
};

} // namespace eve::db::postgres

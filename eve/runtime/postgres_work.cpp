#include "postgres_work.hpp"

namespace eve::db::postgres {

namespace {

// A statement that was cancelled, and a rollback, end within this time, or within the time that an
// operation waits for a connection if that is longer, or their session is given up. A guess: both
// take a server that is not busy a moment.
constexpr i64 ending_ns = 10'000'000'000;

fault interrupted() { return {code_of("57014"), string::literal("interrupted"), string()}; }

// A moment that is not beyond the end of the clock.
i64 later(i64 now_ns, duration by) noexcept {
    i64 at_ns;
    return __builtin_add_overflow(now_ns, by, &at_ns) ? i64(~0ul >> 1) : at_ns;
}

} // namespace

void work::queue() noexcept {
    home = &this_loop();
    visit me(*home);
    until_ns_ = later(monotonic_ns(), of_->wait());
    if (line().take(*this)) take_turn(*home);
    else home->set(*this, until_ns_);
}

void work::begin_hurried(loop& on) {
    on.set(*this, monotonic_ns() + ending_ns);
    begin_to_talk(on);
}

void work::give_up() noexcept {
    unwanted_ = true;
    switch (phase_) {
    case phase::queueing:
        if (!line().give_up(*this)) return; // its turn has come: take_turn ends it
        home->cancel(*this);
        return end_with(interrupted());
    case phase::connecting:
        if (waiting_ != 0 && unwatch(*home)) advance(*home);
        return;
    case phase::talking: return ask_to_cancel(*home);
    case phase::clearing: return;
    }
}

void work::expire(loop& on, i64) {
    late_ = true;
    if (phase_ == phase::queueing) {
        if (line().give_up(*this))
            end_with({code_of("53300"), string::literal("no connection is free"), string()});
        return;
    }
    if (waiting_ != 0 && unwatch(on)) advance(on);
}

void work::ready(loop& on, u8) {
    if (waiting_ != 0 && unwatch(on)) advance(on);
}

void work::mailed(loop& on, u32 what) {
    if (what & mail_start) return take_turn(on);
    if (what & mail_retire) {
        retiring_ = releasing = false;
        fd = -1;
    }
    bool finished = (what & mail_done) != 0;
    if (finished) blocking_ = false;
    if (finished && phase_ == phase::connecting) stepped(on);
    else advance(on);
}

// Watches the descriptor until the next step is due.
void work::watch(loop& on, progress until) {
    fd = own->descriptor();
    locked l(guard);
    waiting_ = until == progress::reading    ? u8(io_in)
               : phase_ == phase::connecting ? u8(io_out)
                                             : u8(io_in | io_out);
    on.update(*this);
}

// A step of libpq may close the descriptor, so it is not watched meanwhile. False: not yet; mail
// will come.
bool work::unwatch(loop& on) noexcept {
    {
        locked l(guard);
        waiting_ = 0;
    }
    retiring_ = !on.forget(*this);
    if (!retiring_) fd = -1;
    return !retiring_;
}

// It has a session, or may open one, or there is none any more.
void work::take_turn(loop& on) {
    late_ = false; // it came in time
    on.cancel(*this);
    if (turn == got::nothing) {
        const char* why = within_ ? "the transaction has ended" : "the database is closed";
        return end_with({code_of("08003"), string::literal(why), string()});
    }
    if (turn == got::session && (within_ || unwanted_ || own->is_alive())) {
        if (!unwanted_) return begin_to_talk(on);
        pass_on();
        return end_with(interrupted());
    }
    if (own != nullptr) destroy(own); // its server has gone
    own = create<session>();
    phase_ = phase::connecting;
    on.set(*this, until_ns_);
    advance(on);
}

// The next step of what is under way.
void work::advance(loop& on) {
    if (waiting_ != 0 || retiring_) return;
    if (phase_ != phase::connecting) return step(on);
    if (late_ || unwanted_) return stepped(on);
    blocking_ = true;
    run_blocking(*this);
}

void work::block() noexcept {
    if (phase_ == phase::connecting) progress_ = own->connect(of_->url());
    else session::cancel(by_);
    home->mail(*this, mail_done);
}

// A step of connecting has ended.
void work::stepped(loop& on) {
    if (!late_ && !unwanted_ && progress_ == progress::done) {
        on.cancel(*this);
        return begin_to_talk(on);
    }
    if (!late_ && !unwanted_ && progress_ != progress::failed) {
        if (own->descriptor() >= 0) watch(on, progress_);
        else advance(on);
        return;
    }
    on.cancel(*this);
    fault why =
        late_ ? fault{code_of("08001"), string::literal("the server does not answer"), string()}
        : unwanted_ ? interrupted()
                    : own->last("08001");
    lose_session();
    end_with(why);
}

void work::begin_to_talk(loop& on) {
    phase_ = phase::talking;
    fault why = launch();
    if (why) reply_.why = why;
    answered_ = why || (requests_.empty() && !is_script_);
    step(on);
}

// The next step of the batch.
void work::step(loop& on) {
    while (!answered_ && !late_) {
        progress now = own->talk(phase_ == phase::talking ? reply_ : cleared_);
        if (now == progress::reading || now == progress::writing) {
            watch(on, now);
            if (reply_.too_many) ask_to_cancel(on);
            return;
        }
        answered_ = true;
        broken_ = now == progress::failed;
    }
    if (blocking_) return; // the call that cancels is under way, and must not meet another batch
    if (!answered_) {
        broken_ = true;
        reply_.why = {code_of("08006"), string::literal("the server does not answer"), string()};
    }
    on.cancel(*this);
    if (broken_ && !reply_.why) reply_.why = own->last("08006");
    if (phase_ == phase::talking) fault_ = reply_.why;
    bool left_open = !broken_ && !within_ && own->in_transaction() && (fault_ || !begins_);
    if (left_open && phase_ == phase::talking) return clear(on);
    if (broken_ || left_open) lose_session();
    else pass_on();
    over();
}

i64 work::latest_end() const noexcept {
    return later(monotonic_ns(), of_->wait() > ending_ns ? of_->wait() : ending_ns);
}

// Rolls back the transaction that a failed batch, or a script, has left open.
void work::clear(loop& on) {
    if (!fault_)
        fault_ = {code_of("0A000"), string::literal("a script does not begin a transaction"),
                  string()};
    phase_ = phase::clearing;
    vector<request> rollback;
    rollback.push(request{string::literal("ROLLBACK"), {}, false});
    cleared_.why = own->send(rollback, cleared_);
    answered_ = late_ = false;
    if (cleared_.why) answered_ = broken_ = true;
    else on.set(*this, latest_end());
    step(on);
}

void work::ask_to_cancel(loop& on) noexcept {
    if (cancelled_ || answered_) return;
    cancelled_ = true;
    by_ = own->canceller();
    on.set(*this, latest_end());
    blocking_ = true;
    run_blocking(*this);
}

void work::lose_session() noexcept {
    destroy(own);
    own = nullptr;
    if (within_) within_->settle(nullptr);
    else of_->sessions().lose();
}

void work::pass_on() noexcept {
    session* s = own;
    own = nullptr;
    if (within_) within_->settle(s);
    else of_->sessions().give(s);
}

void work::end_with(fault why) {
    fault_ = move(why);
    over();
}

} // namespace eve::db::postgres

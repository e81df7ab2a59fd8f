#include "sqlite.hpp"

#include "loop.hpp"
#include "sqlite_connection.hpp"

#include <sqlite3.h>

namespace eve::db::sqlite {

namespace {

// A lock of the file is tried again after these times: it has no event to wait for. Guesses.
constexpr i64 shortest_wait_ns = 500'000;
constexpr i64 longest_wait_ns = 32'000'000;

fault interrupted() { return {SQLITE_INTERRUPT, string::literal("interrupted")}; }
fault over_already(const char* why) { return {SQLITE_MISUSE, string::literal(why)}; }

// A moment that is not beyond the end of the clock.
i64 later(i64 now_ns, duration by) noexcept {
    i64 at_ns;
    return __builtin_add_overflow(now_ns, by, &at_ns) ? i64(~0ul >> 1) : at_ns;
}

// Whether another attempt may succeed. A snapshot that others have overtaken stays too old.
bool is_locked(const fault& f) noexcept {
    return (f.code & 0xff) == SQLITE_BUSY && f.code != SQLITE_BUSY_SNAPSHOT;
}

// An operation, from its begin to its answer. It waits for its turn, and then is attempted on a
// thread of the pool until the locks of the file are free. The thread is free in between.
class work : public channel, public timer_node, public turn {
public:
    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}

    // An attempt has ended.
    void mailed(loop&, u32) override {
        if (waiting_) home->cancel(*this);
        waiting_ = false;
        if (!again_) return over();
        if (unwanted_.load(order::relaxed) != 0) return run_blocking(*this);
        locked_out_ = true;
        i64 next_ns = monotonic_ns() + wait_ns_;
        wait_until(next_ns < until_ns_ ? next_ns : until_ns_);
        wait_ns_ = wait_ns_ < longest_wait_ns ? 2 * wait_ns_ : longest_wait_ns;
    }
    void expire(loop&, i64) override {
        waiting_ = false;
        if (locked_out_) {
            locked_out_ = false;
            run_blocking(*this);
        } else if (line_.give_up(*this)) {
            fault_ = {SQLITE_BUSY, string::literal("its turn has not come")};
            over();
        } // else its turn has come
    }

protected:
    // `line` is of the connection, or of a transaction.
    work(ref<connection> of, turns& line, const char* what) noexcept
        : channel(kind::other), of_(move(of)), line_(line), what_(what) {}
    ~work() = default;

    // Owner only, in a body or inside.
    void queue() noexcept {
        home = &this_loop();
        visit me(*home);
        until_ns_ = later(monotonic_ns(), of_->busy());
        if (!line_.enter(*this)) wait_until(until_ns_);
    }
    // Inside only. Ends as soon as it can.
    void give_up() noexcept {
        unwanted_.store(1, order::relaxed);
        if (!waiting_ || (!locked_out_ && !line_.give_up(*this))) return; // an attempt ends early
        home->cancel(*this);
        waiting_ = false;
        if (locked_out_) {
            locked_out_ = false;
            return run_blocking(*this);
        }
        fault_ = interrupted();
        over();
    }

    // On a thread of the pool, in its turn, all four. Does the work.
    virtual fault attempt() = 0;
    // Whether an attempt that met a lock has had no effect.
    virtual bool may_retry() = 0;
    // The work has failed.
    virtual void undo() noexcept {}
    // The last attempt has ended: the turn is the next operation's.
    virtual void pass_turn() noexcept { line_.leave(); }
    // Inside only. Hands the result over.
    virtual void over() = 0;

    ref<connection> of_;
    turns& line_;
    const char* what_; // its name in errors
    fault fault_;

private:
    void wait_until(i64 moment_ns) noexcept {
        waiting_ = true;
        home->set(*this, moment_ns);
    }
    void block() noexcept override {
        again_ = false;
        if (unwanted_.load(order::relaxed) != 0) {
            fault_ = interrupted();
        } else {
            if (of_->is_open()) of_->watch(&unwanted_);
            fault_ = attempt();
            if (of_->is_open()) of_->watch(nullptr);
            again_ = is_locked(fault_) && monotonic_ns() < until_ns_ && may_retry();
        }
        if (!again_) {
            if (fault_) undo();
            pass_turn();
        }
        home->mail(*this, mail_done);
    }

    atomic<u32> unwanted_;
    bool again_ = false;      // the last attempt met a lock
    bool waiting_ = false;    // the timer is set. Inside only, as all below
    bool locked_out_ = false; // it waits for a lock, not for its turn
    i64 wait_ns_ = shortest_wait_ns;
    i64 until_ns_ = 0;
};

template <class T> class work_for : public operation_for<result<T>>, public work {
public:
    void begin() override { this->queue(); }
    void cancel() noexcept override { this->give_up(); }

protected:
    work_for(ref<connection> of, turns& line, const char* what) noexcept
        : work(move(of), line, what) {}
    ~work_for() = default;

    // The value, if there was no error.
    virtual result<T> good() noexcept = 0;
    void over() override {
        if (fault_) this->done(sqlite_error(what_, of_->path(), fault_.code, fault_.why));
        else this->done(good());
        this->drop();
    }
};

class opening final : public work_for<ref<database>> {
public:
    explicit opening(const ref<connection>& of) noexcept : work_for(of, of->line(), "open") {}

private:
    fault attempt() override { return of_->open(); }
    bool may_retry() override { return true; }
    result<ref<database>> good() noexcept override { return make<database>(database(of_)); }
    void end() noexcept override { destroy(this); }
};

// One statement. In a transaction its turn is one of that.
template <class T> class statement : public work_for<T> {
protected:
    statement(const ref<connection>& of, const ref<transaction>& within, const char* what,
              const string& sql, arguments values, bool reading, i64 most) noexcept
        : work_for<T>(of, within ? within->line() : of->line(), what), within_(within), sql_(sql),
          values_(move(values)), reading_(reading), most_(most) {}
    ~statement() = default;

    table_of_rows rows_;
    i64 changed_ = 0;

private:
    fault attempt() override {
        if (within_ && within_->has_ended()) return over_already("the transaction has ended");
        if (!this->of_->is_open()) return over_already("the database is closed");
        rows_ = table_of_rows();
        bool wants_rows = __is_same(T, vector<row>);
        return this->of_->run(sql_, values_, reading_, most_, wants_rows ? &rows_ : nullptr,
                              changed_);
    }
    bool may_retry() override { return !within_; }
    void pass_turn() noexcept override {
        if (within_) within_->settle();
        this->line_.leave();
    }

    ref<transaction> within_; // null: none
    string sql_;
    arguments values_;
    bool reading_;
    i64 most_;
};

class fetching final : public statement<vector<row>> {
public:
    fetching(const ref<connection>& of, const ref<transaction>& within, const char* what,
             const string& sql, arguments values, bool reading, i64 most) noexcept
        : statement(of, within, what, sql, move(values), reading, most) {}

private:
    result<vector<row>> good() noexcept override { return row::each(move(rows_)); }
    void end() noexcept override { destroy(this); }
};

class running final : public statement<i64> {
public:
    running(const ref<connection>& of, const ref<transaction>& within, const string& sql,
            arguments values) noexcept
        : statement(of, within, "run", sql, move(values), false, 0) {}

private:
    result<i64> good() noexcept override { return changed_; }
    void end() noexcept override { destroy(this); }
};

// Work within a transaction of its own, which is undone if the work fails.
template <class T> class whole : public work_for<T> {
protected:
    whole(const ref<connection>& of, const char* what) noexcept
        : work_for<T>(of, of->line(), what) {}
    ~whole() = default;
    virtual fault all() = 0;

private:
    // A commit that met a lock is tried again alone.
    fault attempt() override {
        connection& c = *this->of_;
        if (!c.is_open()) return over_already("the database is closed");
        if (!done_) {
            if (fault f = c.control("BEGIN IMMEDIATE")) return f;
            if (fault f = all()) return f;
        }
        done_ = true;
        return c.control("COMMIT");
    }
    bool may_retry() override { return done_ || !this->of_->in_transaction(); }
    void undo() noexcept override {
        connection& c = *this->of_;
        if (c.is_open() && c.in_transaction()) c.control("ROLLBACK");
    }

    bool done_ = false; // all but the commit
};

class running_all final : public whole<i64> {
public:
    running_all(const ref<connection>& of, statements list) noexcept
        : whole(of, "run_all"), list_(move(list)) {}

private:
    fault all() override {
        changed_ = 0;
        for (const auto& one : list_) {
            i64 changed = 0;
            if (fault f = of_->run(get<0>(one), get<1>(one), false, 0, nullptr, changed)) return f;
            changed_ += changed;
        }
        return {};
    }
    result<i64> good() noexcept override { return changed_; }
    void end() noexcept override { destroy(this); }

    statements list_;
    i64 changed_ = 0;
};

class running_script final : public whole<void> {
public:
    running_script(const ref<connection>& of, const string& sql) noexcept
        : whole(of, "script"), sql_(sql) {}

private:
    fault all() override { return of_->run_script(sql_); }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    string sql_;
};

// The transaction keeps the turn.
class beginning final : public work_for<ref<transaction>> {
public:
    explicit beginning(const ref<connection>& of) noexcept : work_for(of, of->line(), "begin") {}

private:
    fault attempt() override {
        if (!of_->is_open()) return over_already("the database is closed");
        return of_->control("BEGIN IMMEDIATE");
    }
    bool may_retry() override { return true; }
    void pass_turn() noexcept override {
        if (fault_) line_.leave();
    }
    result<ref<transaction>> good() noexcept override {
        return make<transaction>(transaction(of_));
    }
    void end() noexcept override { destroy(this); }
};

// COMMIT or ROLLBACK.
class ending final : public work_for<void> {
public:
    ending(const ref<connection>& of, const ref<transaction>& t, const char* what,
           const char* sql) noexcept
        : work_for(of, t->line(), what), of_transaction_(t), sql_(sql) {}

private:
    fault attempt() override {
        if (of_transaction_->has_ended()) return over_already("the transaction has ended");
        return of_->control(sql_);
    }
    bool may_retry() override { return true; }
    void pass_turn() noexcept override {
        of_transaction_->settle();
        line_.leave();
    }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    ref<transaction> of_transaction_;
    const char* sql_;
};

class closing_of_database final : public work_for<void> {
public:
    explicit closing_of_database(const ref<connection>& of) noexcept
        : work_for(of, of->line(), "close") {}

private:
    fault attempt() override {
        if (!of_->is_open()) return over_already("the database is closed");
        of_->close();
        return {};
    }
    bool may_retry() override { return false; }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }
};

// Of a transaction that nobody has ended, and nobody can any more.
struct rolling_back final : blocking_call {
    ref<connection> of;
    explicit rolling_back(ref<connection> c) noexcept : of(move(c)) {}
    void block() noexcept override {
        if (of->in_transaction()) of->control("ROLLBACK");
        of->line().leave();
        destroy(this);
    }
};

} // namespace

string database::path() const noexcept { return of_->path(); }

fetched database::query(const string& sql, arguments values, i64 most) {
    return fetched(
        create<fetching>(of_, ref<transaction>(), "query", sql, move(values), true, most));
}

fetched database::returning(const string& sql, arguments values, i64 most) {
    return fetched(
        create<fetching>(of_, ref<transaction>(), "returning", sql, move(values), false, most));
}

async<result<i64>> database::run(const string& sql, arguments values) {
    return async<result<i64>>(create<running>(of_, ref<transaction>(), sql, move(values)));
}

async<result<i64>> database::run_all(statements all) {
    return async<result<i64>>(create<running_all>(of_, move(all)));
}

async<result<void>> database::script(const string& sql) {
    return async<result<void>>(create<running_script>(of_, sql));
}

async<result<ref<transaction>>> database::begin() {
    return async<result<ref<transaction>>>(create<beginning>(of_));
}

async<result<void>> database::close() {
    return async<result<void>>(create<closing_of_database>(of_));
}

fetched transaction::query(const string& sql, arguments values, i64 most) {
    return fetched(create<fetching>(of_, ref_of(*this), "query", sql, move(values), true, most));
}

fetched transaction::returning(const string& sql, arguments values, i64 most) {
    return fetched(
        create<fetching>(of_, ref_of(*this), "returning", sql, move(values), false, most));
}

async<result<i64>> transaction::run(const string& sql, arguments values) {
    return async<result<i64>>(create<running>(of_, ref_of(*this), sql, move(values)));
}

async<result<void>> transaction::commit() {
    return async<result<void>>(create<ending>(of_, ref_of(*this), "commit", "COMMIT"));
}

async<result<void>> transaction::rollback() {
    return async<result<void>>(create<ending>(of_, ref_of(*this), "rollback", "ROLLBACK"));
}

// SQLite ends a transaction by itself after some errors: a full disk, an interrupted change.
void transaction::settle() noexcept {
    if (ended_ || of_->in_transaction()) return;
    ended_ = true;
    of_->line().leave();
}

transaction::~transaction() {
    if (of_ && !ended_) run_blocking(*create<rolling_back>(move(of_)));
}

async<result<ref<database>>> open(const string& path, duration busy, bool read_only, bool wal) {
    settings how{.busy = busy, .read_only = read_only, .wal = wal};
    return async<result<ref<database>>>(create<opening>(make<connection>(connection(path, how))));
}

async<result<ref<database>>> open_memory(duration busy) {
    settings how{.busy = busy, .in_memory = true};
    connection fresh(string::literal(":memory:"), how);
    return async<result<ref<database>>>(create<opening>(make<connection>(move(fresh))));
}

} // namespace eve::db::sqlite

#include "postgres.hpp"

#include "postgres_work.hpp"

namespace eve::db::postgres {

namespace {

// Statements of our own.
void control(vector<request>& all, const char* sql) {
    all.push(request{string::literal(sql), {}, false});
}

template <class T> class work_for : public operation_for<result<T>>, public work {
public:
    void begin() override { this->queue(); }
    void cancel() noexcept override { this->give_up(); }

protected:
    work_for(ref<source> of, ref<transaction> within, const char* what) noexcept
        : work(move(of), move(within), what) {}
    ~work_for() = default;

    // The value, if there was no error.
    virtual result<T> good() noexcept = 0;
    void over() override {
        if (fault_) this->done(postgres_error(what_, of_->path(), fault_));
        else this->done(good());
        this->drop();
    }
};

// The first connection of a database.
class opening final : public work_for<ref<database>> {
public:
    explicit opening(ref<source> of) noexcept : work_for(move(of), {}, "open") {}

private:
    result<ref<database>> good() noexcept override { return make<database>(database(of_)); }
    void end() noexcept override { destroy(this); }
};

// A result that is known at once.
template <class T> class known final : public operation_for<result<T>> {
public:
    explicit known(result<T> is) noexcept : is_(move(is)) {}
    void begin() override {
        this->done(move(is_));
        this->drop();
    }
    void cancel() noexcept override {}

private:
    void end() noexcept override { destroy(this); }

    result<T> is_;
};

class fetching final : public work_for<vector<row>> {
public:
    // `reading`: the server refuses a statement that writes. In a transaction that holds until the
    // savepoint is rolled back.
    fetching(ref<source> of, ref<transaction> within, const char* what, const string& sql,
             arguments values, bool reading, i64 most) noexcept
        : work_for(move(of), move(within), what) {
        reply_.wants_rows = true;
        reply_.most = most;
        if (reading && within_) {
            control(requests_, "SAVEPOINT eve");
            control(requests_, "SET LOCAL transaction_read_only = on");
        } else if (reading) {
            control(requests_, "BEGIN READ ONLY");
        }
        requests_.push(request{sql, move(values)});
        if (reading && within_) {
            control(requests_, "ROLLBACK TO eve");
            control(requests_, "RELEASE eve");
        } else if (reading) {
            control(requests_, "COMMIT");
        }
    }

private:
    result<vector<row>> good() noexcept override { return row::each(move(reply_.rows)); }
    void end() noexcept override { destroy(this); }
};

class running final : public work_for<i64> {
public:
    running(ref<source> of, ref<transaction> within, const string& sql, arguments values) noexcept
        : work_for(move(of), move(within), "run") {
        requests_.push(request{sql, move(values)});
    }
    running(ref<source> of, statements all) noexcept : work_for(move(of), {}, "run_all") {
        control(requests_, "BEGIN");
        for (auto& one : all) requests_.push(request{get<0>(one), move(get<1>(one))});
        control(requests_, "COMMIT");
    }

private:
    result<i64> good() noexcept override { return reply_.changed; }
    void end() noexcept override { destroy(this); }
};

class running_script final : public work_for<void> {
public:
    running_script(ref<source> of, const string& sql) noexcept
        : work_for(move(of), {}, "script"), sql_(sql) {
        is_script_ = true;
    }

private:
    fault launch() override { return own->send_script(sql_); }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    string sql_;
};

// The transaction keeps the session.
class beginning final : public work_for<ref<transaction>> {
public:
    explicit beginning(ref<source> of) noexcept : work_for(move(of), {}, "begin") {
        begins_ = true;
        control(requests_, "BEGIN");
    }

private:
    void pass_on() noexcept override {
        if (fault_ || !own->in_transaction()) work::pass_on();
    }
    result<ref<transaction>> good() noexcept override {
        ref<transaction> t = make<transaction>(transaction(of_, *home));
        t->sessions().give(own);
        return t;
    }
    void end() noexcept override { destroy(this); }
};

// COMMIT or ROLLBACK.
class ending final : public work_for<void> {
public:
    ending(ref<source> of, ref<transaction> t, const char* what, const char* sql) noexcept
        : work_for(move(of), move(t), what), is_commit_(sql[0] == 'C') {
        control(requests_, sql);
    }

private:
    // The server does not commit a transaction that has failed, and does not call that an error.
    result<void> good() noexcept override {
        if (!is_commit_ || !(reply_.tag == string::literal("ROLLBACK"))) return result<void>();
        return postgres_error(
            what_, of_->path(),
            {code_of("25P02"), string::literal("the transaction has failed before"), string()});
    }
    void end() noexcept override { destroy(this); }

    bool is_commit_;
};

// Of a transaction that nobody has ended, and nobody can any more. It keeps the process alive for
// some seconds at most.
class rolling_back final : public work {
public:
    rolling_back(ref<source> of, loop& on, session* s) noexcept : work(move(of), {}, "rollback") {
        control(requests_, "ROLLBACK");
        own = s;
        home = &on;
        arm();
        home->mail(*this, mail_start);
    }
    void mailed(loop& on, u32 what) override {
        if (what & mail_start) begin_hurried(on);
        else work::mailed(on, what);
    }

private:
    void over() override {
        disarm();
        destroy(this);
    }
};

} // namespace

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
    return async<result<i64>>(create<running>(of_, move(all)));
}

async<result<void>> database::script(const string& sql) {
    return async<result<void>>(create<running_script>(of_, sql));
}

async<result<ref<transaction>>> database::begin() {
    return async<result<ref<transaction>>>(create<beginning>(of_));
}

async<result<void>> database::close() {
    result<void> r;
    if (!of_->sessions().end())
        r = postgres_error("close", of_->path(),
                           {code_of("08003"), string::literal("the database is closed"), string()});
    return async<result<void>>(create<known<void>>(move(r)));
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

void transaction::settle(session* s) noexcept {
    if (s != nullptr && s->in_transaction()) return own_.give(s);
    own_.end();
    if (s != nullptr) of_->sessions().give(s);
    else of_->sessions().lose();
}

// A thread that is no worker cannot keep the process alive for the rollback: the server does it
// when the connection ends.
transaction::~transaction() {
    session* s = of_ ? own_.withdraw() : nullptr;
    if (s == nullptr) return;
    if (self() != nullptr) {
        (void)create<rolling_back>(move(of_), *on_, s); // it destroys itself
        return;
    }
    destroy(s);
    of_->sessions().lose();
}

async<result<ref<database>>> open(const string& url, duration wait, i64 most) {
    using opened = result<ref<database>>;
    result<string> path = shown_name(url);
    if (!path.ok()) {
        fault why{path.why().code(), path.why().text(), string()};
        return async<opened>(create<known<ref<database>>>(
            opened(postgres_error("open", string::literal("the database"), why))));
    }
    return async<opened>(
        create<opening>(make<source>(source(url, path.take(), wait, most < 1 ? 1 : most))));
}

} // namespace eve::db::postgres

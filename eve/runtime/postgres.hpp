#pragma once
// Module db.postgres: databases of PostgreSQL servers, by pools of connections
// (std/db/postgres.eve). The loop on which an operation began watches its connection. None of them
// makes a worker wait.
#include "async.hpp"
#include "pool.hpp"
#include "postgres_supply.hpp"
#include "tuple.hpp"

namespace eve {
class loop;
}

namespace eve::db::postgres {

class transaction;

using fetched = async<result<vector<row>>>;
using statements = vector<tuple<string, arguments>>;

// What the operations of one database share. Any thread, all methods.
class source {
public:
    source(string url, string path, duration wait, i64 most) noexcept
        : url_(move(url)), path_(move(path)), wait_(wait), most_(most), sessions_(most) {}
    // Only before it is shared.
    source(source&& fresh) noexcept
        : source(move(fresh.url_), move(fresh.path_), fresh.wait_, fresh.most_) {}
    source& operator=(source&&) = delete;

    const string& url() const noexcept { return url_; }
    const string& path() const noexcept { return path_; } // what messages may show of the URL
    duration wait() const noexcept { return wait_; }
    supply& sessions() noexcept { return sessions_; }

private:
    string url_;
    string path_;
    duration wait_; // the longest wait for a session
    i64 most_;
    supply sessions_;
    pool_room thread_; // however long names are looked up, others find a thread
};

// Any thread, all methods.
class database {
public:
    explicit database(ref<source> of) noexcept : of_(move(of)) {}

    string path() const noexcept { return of_->path(); }
    fetched query(const string& sql, arguments values, i64 most);
    fetched returning(const string& sql, arguments values, i64 most);
    async<result<i64>> run(const string& sql, arguments values);
    async<result<i64>> run_all(statements all);
    async<result<void>> script(const string& sql);
    async<result<ref<transaction>>> begin();
    async<result<void>> close();

private:
    ref<source> of_;
};

// While it lasts it has a session.
class transaction {
public:
    // `on` is a loop that may roll it back.
    transaction(ref<source> of, loop& on) noexcept : of_(move(of)), on_(&on), own_(0) {}
    // Only before it is shared.
    transaction(transaction&& fresh) noexcept : of_(move(fresh.of_)), on_(fresh.on_), own_(0) {}
    transaction& operator=(transaction&&) = delete;
    // Rolls back what has not ended.
    ~transaction();

    // Any thread.
    fetched query(const string& sql, arguments values, i64 most);
    fetched returning(const string& sql, arguments values, i64 most);
    async<result<i64>> run(const string& sql, arguments values);
    async<result<void>> commit();
    async<result<void>> rollback();
    supply& sessions() noexcept { return own_; }
    // An operation has ended. Its session, null if that has broken, is the next one's, or, once the
    // transaction has ended, the database's.
    void settle(session* s) noexcept;

private:
    ref<source> of_;
    loop* on_;
    supply own_;
};

async<result<ref<database>>> open(const string& url, duration wait, i64 most);

} // namespace eve::db::postgres

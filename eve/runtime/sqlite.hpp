#pragma once
// Module db.sqlite: databases in files and in memory (std/db/sqlite.eve). Operations on one
// connection take turns, in the order in which they were begun. None of them makes a worker wait.
#include "async.hpp"
#include "sqlite_turn.hpp"
#include "sqlite_value.hpp"
#include "tuple.hpp"

namespace eve::db::sqlite {

class connection;
class transaction;

using fetched = async<result<vector<row>>>;
using arguments = vector<value>;
using statements = vector<tuple<string, arguments>>;

// Any thread, all methods.
class database {
public:
    explicit database(ref<connection> of) noexcept : of_(move(of)) {}

    string path() const noexcept;
    fetched query(const string& sql, arguments values, i64 most);
    fetched returning(const string& sql, arguments values, i64 most);
    async<result<i64>> run(const string& sql, arguments values);
    async<result<i64>> run_all(statements all);
    async<result<void>> script(const string& sql);
    async<result<ref<transaction>>> begin();
    async<result<void>> close();

private:
    ref<connection> of_;
};

// While it lasts it has the connection's turn.
class transaction {
public:
    explicit transaction(ref<connection> of) noexcept : of_(move(of)) {}
    // Only before it is shared.
    transaction(transaction&& fresh) noexcept : of_(move(fresh.of_)) {}
    transaction& operator=(transaction&&) = delete;
    // Rolls back what has not ended.
    ~transaction();

    // Any thread.
    fetched query(const string& sql, arguments values, i64 most);
    fetched returning(const string& sql, arguments values, i64 most);
    async<result<i64>> run(const string& sql, arguments values);
    async<result<void>> commit();
    async<result<void>> rollback();
    turns& line() noexcept { return line_; }

    // The operation whose turn it is here. settle: it ends if SQLite has ended it.
    bool has_ended() const noexcept { return ended_; }
    void settle() noexcept;

private:
    ref<connection> of_;
    turns line_;
    bool ended_ = false;
};

async<result<ref<database>>> open(const string& path, duration busy, bool read_only, bool wal);
async<result<ref<database>>> open_memory(duration busy);

} // namespace eve::db::sqlite

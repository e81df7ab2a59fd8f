#pragma once
// A connection to a database: what one thread of the pool at a time does with SQLite. Operations on
// it take turns.
#include "sqlite_value.hpp"
#include "sqlite_turn.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace eve::db::sqlite {

// An error of SQLite, before it becomes a value. Code 0: none.
struct fault {
    int code = 0;
    string why;
    explicit operator bool() const noexcept { return code != 0; }
};

struct settings {
    duration busy = 0; // the longest wait for a turn, and for a lock of the file
    bool read_only = false;
    bool wal = false;
    bool in_memory = false;
};

class connection {
public:
    connection(string path, const settings& how) noexcept : path_(move(path)), how_(how) {}
    // Only before it is shared.
    connection(connection&& fresh) noexcept : path_(move(fresh.path_)), how_(fresh.how_) {}
    connection& operator=(connection&&) = delete;
    // Any thread: a thread of the pool closes what is open.
    ~connection();

    // Any thread.
    const string& path() const noexcept { return path_; }
    duration busy() const noexcept { return how_.busy; }
    turns& line() noexcept { return line_; }

    // All below: the operation whose turn it is, and only on a thread that may wait.
    bool is_open() const noexcept { return db_ != nullptr; }
    // Begins anew if an earlier attempt has failed.
    fault open();
    void close() noexcept;
    bool in_transaction() const noexcept;
    // Statements end early, with SQLITE_INTERRUPT, once this is not 0. Null: none does.
    void watch(const atomic<u32>* unwanted) noexcept;
    // BEGIN IMMEDIATE, COMMIT or ROLLBACK.
    fault control(const char* sql);
    // Runs one statement. `reading` refuses one that may write. Rows, at most `most`, go into
    // `rows`; they are dropped if that is null.
    fault run(const string& sql, const vector<value>& values, bool reading, i64 most,
              table_of_rows* rows, i64& changed);
    // Runs statements, separated by semicolons, until one of them fails.
    fault run_script(const string& sql);

private:
    struct prepared {
        string sql;
        sqlite3_stmt* statement;
        u64 used; // the count of uses at the last one
    };

    fault prepare(const string& sql, sqlite3_stmt*& statement);
    fault prepare_first(const char* sql, i64 size, unsigned flags, sqlite3_stmt*& statement,
                        const char*& rest);
    void keep(const string& sql, sqlite3_stmt* statement);
    fault bind(sqlite3_stmt* statement, const vector<value>& values);
    fault step_all(sqlite3_stmt* statement, i64 most, table_of_rows* rows);
    fault set_up();
    fault last() const;
    static int allow(void* self, int action, const char*, const char*, const char*, const char*);

    string path_;
    settings how_;
    turns line_;
    pool_room thread_; // however long its statements take, others find a thread
    sqlite3* db_ = nullptr;
    bool checking_ = false; // a statement of the program is being prepared
    u64 uses_ = 0;
    vector<prepared> prepared_;
};

} // namespace eve::db::sqlite

#pragma once
// A connection to a PostgreSQL server, by libpq's calls that do not block. It knows no loop: its
// caller watches the descriptor, and calls again. One operation at a time has a session.
#include "postgres_value.hpp"

struct pg_conn;
struct pg_result;
struct pg_cancel;

namespace eve::db::postgres {

// One statement of a batch. Those of a batch are sent together, and end at the first error.
struct request {
    string sql;
    arguments values;
    bool asked = true; // by the program: its result is wanted, and it controls no transaction
};

// What has come of a batch.
struct reply {
    bool wants_rows = false; // else rows are dropped
    i64 most = 0;            // rows
    bool too_many = false;   // rows come that are not wanted: the batch may be cancelled
    table_of_rows rows;
    i64 changed = 0; // rows, by all statements that the program asked for
    string tag;      // of the last command that had one, such as "ROLLBACK"
    fault why;       // the first error
};

// What a step has come to: the descriptor must become readable, or readable or writable, before
// the next one.
enum class progress : u8 { reading, writing, done, failed };

class session {
public:
    session() noexcept {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    // Any thread.
    ~session();

    // On a thread that may wait: it looks names up, reads files, and computes. The next step of
    // connecting; the first one begins it.
    progress connect(const string& url) noexcept;

    // The owner, on any worker, all below. The descriptor may be another one after each step.
    int descriptor() const noexcept;
    // Whether an idle session still has its server.
    bool is_alive() noexcept;
    // Whether a transaction is under way, one that has failed included.
    bool in_transaction() const noexcept;
    // Begins a batch. An error: nothing was sent. A request that libpq does not take ends the
    // batch, as one does that fails.
    fault send(const vector<request>& all, reply& to);
    // Begins a text of statements, of which only an error is of interest.
    fault send_script(const string& sql);
    // The next step of the batch. `failed`: the session is of no use any more.
    progress talk(reply& to);
    // A handle with which a thread that may wait cancels the batch under way, by `cancel`.
    pg_cancel* canceller() const noexcept;
    static void cancel(pg_cancel* by) noexcept;

    session* next_idle = nullptr; // of the supply

    // After `failed`: what libpq says, with this SQLSTATE.
    fault last(const char* state) const;

private:
    fault send_one(const request& o);
    void begin_result() noexcept;
    progress give_up(reply& to);
    bool take(pg_result* got, reply& to);
    void take_rows(const pg_result* got, reply& to);
    void take_error(const pg_result* got, reply& to) const;

    pg_conn* c_ = nullptr;
    bool script_ = false; // what is under way
    vector<bool> asked_;  // of the batch under way, for each request
    i64 at_ = 0;          // the index of the request whose results come
};

// The parts of a URL for messages: "host:port/name". An error says what is wrong with it.
result<string> shown_name(const string& url);

} // namespace eve::db::postgres

#include "sqlite_connection.hpp"

#include "format.hpp"

#include <limits.h>
#include <sqlite3.h>
#include <string.h>

namespace eve::db::sqlite {

namespace {

constexpr i64 most_prepared = 64; // statements; a guess: a service has some dozens
// Instructions of SQLite's machine between two looks at whether the result is still wanted: some
// 10 us.
constexpr int look_after = 1000;

// What SQLite advises for files and schemas that others may have written ("Defense Against The Dark
// Arts"), and foreign keys, which are off by default for the sake of old programs.
constexpr struct {
    int name;
    int on;
} options[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},     {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
};

bool has_zero(const string& s) noexcept {
    return memchr(s.data(), 0, static_cast<usize>(s.size())) != nullptr;
}

fault misuse(const char* why) { return {SQLITE_MISUSE, string::literal(why)}; }

value value_of(sqlite3_stmt* statement, int column) {
    auto text = [&](value::storage k, const void* data) {
        i64 size = sqlite3_column_bytes(statement, column);
        return value(k, size == 0 ? string() : string(static_cast<const char*>(data), size));
    };
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return value(i64(sqlite3_column_int64(statement, column)));
    case SQLITE_FLOAT: return value(sqlite3_column_double(statement, column));
    case SQLITE_TEXT: return text(value::storage::text, sqlite3_column_text(statement, column));
    case SQLITE_BLOB: return text(value::storage::blob, sqlite3_column_blob(statement, column));
    default: return value();
    }
}

int bind_one(sqlite3_stmt* statement, int at, const value& v) noexcept {
    // The values stay where they are until the statement is reset.
    const char* data = v.as_text().data();
    auto size = static_cast<sqlite3_uint64>(v.as_text().size());
    switch (v.is()) {
    case value::storage::null: return sqlite3_bind_null(statement, at);
    case value::storage::boolean: // SQLite has none
    case value::storage::integer: return sqlite3_bind_int64(statement, at, v.as_integer());
    case value::storage::real: return sqlite3_bind_double(statement, at, v.as_real());
    case value::storage::numeric: // nor this
    case value::storage::text:
        return sqlite3_bind_text64(statement, at, data, size, SQLITE_STATIC, SQLITE_UTF8);
    case value::storage::blob: return sqlite3_bind_blob64(statement, at, data, size, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

int is_unwanted(void* flag) {
    return static_cast<const atomic<u32>*>(flag)->load(order::relaxed) != 0;
}

// Closing writes what is in the log back into the database, which may take long.
struct closing final : blocking_call {
    sqlite3* db;
    explicit closing(sqlite3* of) noexcept : db(of) {}
    void block() noexcept override {
        sqlite3_close_v2(db);
        destroy(this);
    }
};

} // namespace

connection::~connection() {
    if (db_ == nullptr) return;
    for (const prepared& p : prepared_) sqlite3_finalize(p.statement);
    run_blocking(*create<closing>(db_));
}

void connection::close() noexcept {
    for (const prepared& p : prepared_) sqlite3_finalize(p.statement);
    prepared_.clear();
    sqlite3_close_v2(db_);
    db_ = nullptr;
}

fault connection::last() const {
    const char* why = sqlite3_errmsg(db_);
    return {sqlite3_extended_errcode(db_), string(why, static_cast<i64>(strlen(why)))};
}

// A name that SQLite would take for more than a name is written as a path.
fault connection::open() {
    close();
    if (path_.empty() || has_zero(path_))
        return {SQLITE_CANTOPEN, string::literal("this is no name of a file")};
    bool special = path_[0] == ':' || path_.starts_with(string::literal("file:"));
    bytes name = (!how_.in_memory && special ? string::literal("./") + path_ : path_).bytes();
    name.push(0);
    int access = how_.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    // Turns keep threads apart, so SQLite need not.
    int code = sqlite3_open_v2(reinterpret_cast<const char*>(name.data()), &db_,
                               access | SQLITE_OPEN_NOMUTEX, nullptr);
    if (db_ == nullptr) return {code, string::literal("out of memory")};
    sqlite3_extended_result_codes(db_, 1);
    fault f = code != SQLITE_OK ? last() : set_up();
    if (f) close();
    return f;
}

fault connection::set_up() {
    for (const auto& o : options) sqlite3_db_config(db_, o.name, o.on, nullptr);
    const char* statements[] = {
        // reads the file
        how_.wal && !how_.read_only ? "PRAGMA journal_mode=WAL"
                                    : "SELECT count(*) FROM sqlite_schema",
        "PRAGMA synchronous=FULL", // the disk has a commit when it has ended
        "PRAGMA cell_size_check=ON",
    };
    for (const char* sql : statements)
        if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return last();
    sqlite3_set_authorizer(db_, allow, this);
    return {};
}

// Whether SQLite may prepare a statement. A transaction of the program's own would be one that its
// other tasks know nothing of. SQLite's own statements, such as those of VACUUM, may begin one.
int connection::allow(void* self, int action, const char*, const char*, const char*, const char*) {
    bool ends_or_begins = action == SQLITE_TRANSACTION || action == SQLITE_SAVEPOINT;
    return ends_or_begins && static_cast<connection*>(self)->checking_ ? SQLITE_DENY : SQLITE_OK;
}

bool connection::in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

void connection::watch(const atomic<u32>* unwanted) noexcept {
    sqlite3_progress_handler(db_, unwanted != nullptr ? look_after : 0,
                             unwanted != nullptr ? is_unwanted : nullptr,
                             const_cast<atomic<u32>*>(unwanted));
}

fault connection::control(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return last();
    return {};
}

// Without a statement in the text, `statement` is null.
fault connection::prepare_first(const char* sql, i64 size, unsigned flags, sqlite3_stmt*& statement,
                                const char*& rest) {
    if (size > INT_MAX) return {SQLITE_TOOBIG, string::literal("the statement is too long")};
    checking_ = true;
    int code = sqlite3_prepare_v3(db_, sql, static_cast<int>(size), flags, &statement, &rest);
    checking_ = false;
    if (code == SQLITE_OK) return {};
    if (code != SQLITE_AUTH) return last();
    return {code, string::literal("begin, commit, rollback and savepoint are no statements here")};
}

// Statements stay prepared, up to most_prepared of them.
fault connection::prepare(const string& sql, sqlite3_stmt*& statement) {
    for (prepared& p : prepared_) {
        if (!(p.sql == sql)) continue;
        p.used = ++uses_;
        statement = p.statement;
        return {};
    }
    if (has_zero(sql)) return misuse("there is a zero byte in the statement");
    const char* rest = sql.data();
    const char* end = rest + sql.size();
    if (fault f = prepare_first(rest, sql.size(), SQLITE_PREPARE_PERSISTENT, statement, rest))
        return f;
    if (statement == nullptr) return misuse("there is no statement");
    sqlite3_stmt* second = nullptr;
    fault f;
    while (rest < end && second == nullptr && !f)
        f = prepare_first(rest, end - rest, 0, second, rest);
    if (second == nullptr && !f) {
        keep(sql, statement);
        return {};
    }
    sqlite3_finalize(second);
    sqlite3_finalize(statement);
    return misuse("this is more than one statement");
}

// Puts a statement among those that stay prepared, in the place of the least recently used one.
void connection::keep(const string& sql, sqlite3_stmt* statement) {
    prepared fresh{sql, statement, ++uses_};
    if (prepared_.size() < most_prepared) return prepared_.push(move(fresh));
    prepared* oldest = prepared_.begin();
    for (prepared& p : prepared_)
        if (p.used < oldest->used) oldest = &p;
    sqlite3_finalize(oldest->statement);
    *oldest = move(fresh);
}

fault connection::bind(sqlite3_stmt* statement, const vector<value>& values) {
    i64 wanted = sqlite3_bind_parameter_count(statement);
    if (wanted != values.size()) {
        formatter f;
        f.put(string::literal("the statement has "));
        f.put(wanted);
        f.put(string::literal(wanted == 1 ? " parameter, not " : " parameters, not "));
        f.put(values.size());
        return {SQLITE_RANGE, f.take()};
    }
    for (i64 i = 0; i < wanted; i++)
        if (bind_one(statement, static_cast<int>(i + 1), values[i]) != SQLITE_OK) return last();
    return {};
}

fault connection::step_all(sqlite3_stmt* statement, i64 most, table_of_rows* rows) {
    for (i64 n = 0;; n++) {
        int code = sqlite3_step(statement);
        if (code != SQLITE_ROW && code != SQLITE_DONE) return last();
        if (rows == nullptr && code == SQLITE_ROW) continue;
        if (rows == nullptr) return {};
        int width = sqlite3_column_count(statement);
        for (int i = 0; n == 0 && i < width; i++) {
            const char* name = sqlite3_column_name(statement, i);
            rows->columns.push(string(name, static_cast<i64>(strlen(name))));
        }
        if (code == SQLITE_DONE) return {};
        if (n >= most) {
            formatter f;
            f.put(string::literal("there are more than "));
            f.put(most);
            f.put(string::literal(" rows"));
            return {SQLITE_TOOBIG, f.take()};
        }
        for (int i = 0; i < width; i++) rows->cells.push(value_of(statement, i));
    }
}

fault connection::run(const string& sql, const vector<value>& values, bool reading, i64 most,
                      table_of_rows* rows, i64& changed) {
    sqlite3_stmt* statement = nullptr;
    if (fault f = prepare(sql, statement)) return f;
    if (reading && sqlite3_stmt_readonly(statement) == 0)
        return {SQLITE_READONLY, string::literal("this statement writes: use run or returning")};
    i64 before = sqlite3_total_changes64(db_);
    fault f = bind(statement, values);
    if (!f) f = step_all(statement, most, rows);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    changed = sqlite3_total_changes64(db_) != before ? i64(sqlite3_changes64(db_)) : 0;
    return f;
}

fault connection::run_script(const string& sql) {
    if (has_zero(sql)) return misuse("there is a zero byte in the script");
    bytes text = sql.bytes();
    text.push(0);
    // With an end of its own, the rest is not copied for each statement.
    const char* at = reinterpret_cast<const char*>(text.data());
    while (*at != 0) {
        sqlite3_stmt* statement = nullptr;
        if (fault f = prepare_first(at, -1, 0, statement, at)) return f;
        if (statement == nullptr) continue;
        fault f = sqlite3_bind_parameter_count(statement) > 0
                      ? fault{SQLITE_RANGE, string::literal("a script has no parameters")}
                      : step_all(statement, 0, nullptr);
        sqlite3_finalize(statement);
        if (f) return f;
    }
    return {};
}

} // namespace eve::db::sqlite

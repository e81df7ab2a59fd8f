#include "postgres_session.hpp"

#include "fail.hpp"
#include "format.hpp"

#include <postgresql/libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#ifndef LIBPQ_HAS_PIPELINING
#error "db.postgres needs libpq 14 or later"
#endif

namespace eve::db::postgres {

namespace {

constexpr u32 type_bytea = 17; // pg_type.dat
constexpr int most_looks = 16; // at what an idle session's server has said; a guess

bool has_zero(const string& s) noexcept {
    return memchr(s.data(), 0, static_cast<usize>(s.size())) != nullptr;
}

// The text with a zero byte behind it, as C has it.
bytes terminated(const string& s) {
    bytes b = s.bytes();
    b.push(0);
    return b;
}

const char* chars(const bytes& b) noexcept { return reinterpret_cast<const char*>(b.data()); }

// The first line of a message of libpq, which ends with one or more.
string first_line(const char* said) {
    usize n = strcspn(said, "\n");
    return n == 0 ? string::literal("the server has ended the connection")
                  : string(said, static_cast<i64>(n));
}

string field(const PGresult* r, int name) {
    const char* said = PQresultErrorField(r, name);
    return said == nullptr ? string() : string(said, static_cast<i64>(strlen(said)));
}

// The number of rows that a statement has changed. Other commands have numbers of rows, too.
i64 changed_by(PGresult* r) {
    static const char* const tags[] = {"INSERT", "UPDATE", "DELETE", "MERGE"};
    const char* number = PQcmdTuples(r);
    for (const char* t : tags)
        if (strncmp(PQcmdStatus(r), t, strlen(t)) == 0) return atol(number);
    return 0;
}

void ignore_notice(void*, const PGresult*) {}

} // namespace

session::~session() {
    if (c_ != nullptr) PQfinish(c_);
}

fault session::last(const char* state) const {
    return {code_of(state), first_line(PQerrorMessage(c_)), string()};
}

progress session::connect(const string& url) noexcept {
    if (c_ == nullptr) {
        bytes text = terminated(url);
        const char* const names[] = {"dbname", "client_encoding", "fallback_application_name",
                                     nullptr};
        const char* const values[] = {chars(text), "UTF8", "eve", nullptr};
        c_ = PQconnectStartParams(names, values, 1);
        if (c_ == nullptr) die_out_of_memory();
        PQsetNoticeReceiver(c_, ignore_notice, nullptr); // it would print them
        // The first poll is due when the descriptor is writable. It may be none yet.
        return PQstatus(c_) == CONNECTION_BAD ? progress::failed : progress::writing;
    }
    switch (PQconnectPoll(c_)) {
    case PGRES_POLLING_READING: return progress::reading;
    case PGRES_POLLING_WRITING: return progress::writing;
    case PGRES_POLLING_OK: break;
    default: return progress::failed;
    }
    bool ready = PQsetnonblocking(c_, 1) == 0 && PQenterPipelineMode(c_) == 1;
    return ready ? progress::done : progress::failed;
}

int session::descriptor() const noexcept { return PQsocket(c_); }

// A server that ends says why, and then closes the connection. Both have come if it was a while
// ago.
bool session::is_alive() noexcept {
    for (int i = 0; i < most_looks; i++) {
        pollfd at{PQsocket(c_), POLLIN, 0};
        if (at.fd < 0) return false;
        if (::poll(&at, 1, 0) == 0) return PQtransactionStatus(c_) == PQTRANS_IDLE;
        if (PQconsumeInput(c_) == 0 || PQstatus(c_) != CONNECTION_OK) return false;
        PQisBusy(c_); // takes notices and notifications apart
    }
    return false;
}

bool session::in_transaction() const noexcept { return PQtransactionStatus(c_) != PQTRANS_IDLE; }

// Parameters are sent as text, whose types the server infers, and blobs as they are.
fault session::send_one(const request& o) {
    if (has_zero(o.sql))
        return {code_of("42601"), string::literal("there is a zero byte in the statement"),
                string()};
    i64 n = o.values.size();
    vector<bytes> texts; // those that C needs a copy of
    vector<const char*> at;
    vector<u32> types;
    vector<int> sizes, formats;
    texts.reserve(n);
    for (const value& v : o.values) {
        bytes text;
        switch (v.is()) {
        case value::storage::null: break;
        case value::storage::integer: text = terminated(to_text(v.as_integer())); break;
        case value::storage::real: text = terminated(to_text(v.as_real())); break;
        case value::storage::boolean: text = terminated(to_text(v.as_boolean())); break;
        case value::storage::numeric:
        case value::storage::text:
            if (has_zero(v.as_text()))
                return {code_of("22021"), string::literal("there is a zero byte in a text"),
                        string()};
            text = terminated(v.as_text());
            break;
        case value::storage::blob: text = terminated(v.as_text()); break;
        }
        bool blob = v.is() == value::storage::blob;
        texts.push(move(text));
        at.push(v.is() == value::storage::null ? nullptr : chars(texts[texts.size() - 1]));
        types.push(blob ? type_bytea : 0u);
        sizes.push(blob ? static_cast<int>(v.as_text().size()) : 0);
        formats.push(blob ? 1 : 0);
    }
    bytes sql = terminated(o.sql);
    if (n > 65535 || PQsendQueryParams(c_, chars(sql), static_cast<int>(n), types.data(), at.data(),
                                       sizes.data(), formats.data(), 0) == 0)
        return last("54000");
    return {};
}

fault session::send(const vector<request>& all, reply& to) {
    for (const request& o : all) {
        if (o.asked && controls_transactions(o.sql))
            return {code_of("0A000"),
                    string::literal("begin, commit, rollback, savepoint and prepare are no "
                                    "statements here"),
                    string()};
    }
    script_ = false;
    asked_.clear();
    at_ = 0;
    for (const request& o : all) {
        asked_.push(o.asked);
        fault f = send_one(o);
        if (!f) continue;
        to.why = f;
        break;
    }
    if (PQpipelineSync(c_) == 0) return last("08006");
    begin_result();
    return {};
}

fault session::send_script(const string& sql) {
    if (has_zero(sql))
        return {code_of("42601"), string::literal("there is a zero byte in the script"), string()};
    bytes text = terminated(sql);
    script_ = true;
    if (PQexitPipelineMode(c_) == 0 || PQsendQuery(c_, chars(text)) == 0) return last("08006");
    begin_result();
    return {};
}

// Rows come one by one, so that a result that is too large does not fill the memory.
void session::begin_result() noexcept { PQsetSingleRowMode(c_); }

progress session::talk(reply& to) {
    if (PQconsumeInput(c_) == 0) return give_up(to);
    int unsent = PQflush(c_);
    while (unsent >= 0 && PQisBusy(c_) == 0) {
        PGresult* got = PQgetResult(c_);
        if (got == nullptr && script_)
            return PQenterPipelineMode(c_) == 1 ? progress::done : progress::failed;
        if (got == nullptr) { // the end of the results of one request
            at_++;
            begin_result();
            continue;
        }
        bool over = PQresultStatus(got) == PGRES_PIPELINE_SYNC;
        bool usable = over || take(got, to);
        PQclear(got);
        if (!usable) return progress::failed;
        if (over) return PQstatus(c_) == CONNECTION_OK ? progress::done : progress::failed;
    }
    while (PGnotify* n = PQnotifies(c_)) PQfreemem(n); // nobody listens
    if (unsent < 0 || PQstatus(c_) != CONNECTION_OK) return progress::failed;
    return unsent > 0 ? progress::writing : progress::reading;
}

// The connection has ended. What the server said before is still to be read.
progress session::give_up(reply& to) {
    while (!to.why) {
        PGresult* got = PQgetResult(c_); // which does not wait any more
        if (got == nullptr) break;
        take(got, to);
        PQclear(got);
    }
    return progress::failed;
}

// False: the session is of no use any more.
bool session::take(pg_result* got, reply& to) {
    bool asked = script_ || (at_ < asked_.size() && asked_[at_]);
    switch (PQresultStatus(got)) {
    case PGRES_COMMAND_OK:
        to.tag = string(PQcmdStatus(got), static_cast<i64>(strlen(PQcmdStatus(got))));
        if (asked) to.changed += changed_by(got);
        return true;
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
        if (asked) to.changed += changed_by(got);
        if (asked && to.wants_rows) take_rows(got, to);
        return true;
    case PGRES_EMPTY_QUERY:
        if (!script_ && !to.why)
            to.why = {code_of("42601"), string::literal("there is no statement"), string()};
        return true;
    case PGRES_PIPELINE_ABORTED: return true; // behind an error
    case PGRES_NONFATAL_ERROR: return true;   // a notice
    case PGRES_FATAL_ERROR: take_error(got, to); return true;
    default: // COPY, whose data would have to be read or written
        if (!to.why)
            to.why = {code_of("0A000"), string::literal("copy is no statement here"), string()};
        return false;
    }
}

void session::take_rows(const pg_result* got, reply& to) {
    int width = PQnfields(got);
    for (int i = 0; to.rows.columns.size() < width; i++) {
        const char* name = PQfname(got, i);
        to.rows.columns.push(string(name, static_cast<i64>(strlen(name))));
    }
    for (int r = 0; r < PQntuples(got); r++) {
        if (to.too_many) return;
        if (width > 0 && to.rows.cells.size() / width >= to.most) {
            formatter f;
            f.put(string::literal("there are more than "));
            f.put(to.most);
            f.put(string::literal(" rows"));
            to.too_many = true;
            if (!to.why) to.why = {code_of("54000"), f.take(), string()};
            return;
        }
        for (int i = 0; i < width; i++)
            to.rows.cells.push(
                PQgetisnull(got, r, i) == 1
                    ? value()
                    : value_of(PQftype(got, i), PQgetvalue(got, r, i), PQgetlength(got, r, i)));
    }
}

void session::take_error(const pg_result* got, reply& to) const {
    if (to.why) return; // the first one says why
    const char* state = PQresultErrorField(got, PG_DIAG_SQLSTATE);
    if (state == nullptr || strlen(state) != 5) {
        to.why = {code_of("08006"), first_line(PQresultErrorMessage(got)), string()};
        return;
    }
    to.why = {code_of(state), field(got, PG_DIAG_MESSAGE_PRIMARY),
              field(got, PG_DIAG_MESSAGE_DETAIL)};
}

pg_cancel* session::canceller() const noexcept { return PQgetCancel(c_); }

void session::cancel(pg_cancel* by) noexcept {
    char why[256];
    if (by != nullptr) PQcancel(by, why, sizeof why); // if it fails, the session is given up later
    PQfreeCancel(by);
}

result<string> shown_name(const string& url) {
    if (has_zero(url)) return error(code_of("08001"), string::literal("this is no URL"));
    char* why = nullptr;
    bytes text = terminated(url);
    PQconninfoOption* all = PQconninfoParse(chars(text), &why);
    if (all == nullptr) { // the message may quote the URL, and so a password
        PQfreemem(why);
        return error(code_of("08001"), string::literal("this is no URL of a database"));
    }
    string host, port, name;
    for (PQconninfoOption* o = all; o->keyword != nullptr; o++) {
        if (o->val == nullptr) continue;
        string is(o->val, static_cast<i64>(strlen(o->val)));
        if (strcmp(o->keyword, "host") == 0) host = is;
        if (strcmp(o->keyword, "port") == 0) port = string::literal(":") + is;
        if (strcmp(o->keyword, "dbname") == 0) name = is;
    }
    PQconninfoFree(all);
    return host + port + string::literal("/") + name;
}

} // namespace eve::db::postgres

#include "postgres_value.hpp"

#include <postgresql/libpq-fe.h>
#include <stdlib.h>
#include <string.h>

namespace eve::db::postgres {

namespace {

// Oids of the types that are not read as text (pg_type.dat of PostgreSQL; they never change).
enum : u32 {
    type_bool = 16,
    type_bytea = 17,
    type_int8 = 20,
    type_int2 = 21,
    type_int4 = 23,
    type_oid = 26,
    type_float4 = 700,
    type_float8 = 701,
    type_numeric = 1700,
};

bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

// The place behind a comment at `at`, or `at` itself. Comments in /* */ nest.
const char* skip_comment(const char* at, const char* end) noexcept {
    if (end - at < 2) return at;
    if (at[0] == '-' && at[1] == '-') {
        while (at < end && *at != '\n' && *at != '\r') at++;
        return at;
    }
    if (at[0] != '/' || at[1] != '*') return at;
    i64 depth = 1;
    at += 2;
    while (at < end && depth > 0) {
        bool opens = end - at >= 2 && at[0] == '/' && at[1] == '*';
        bool closes = end - at >= 2 && at[0] == '*' && at[1] == '/';
        depth += opens ? 1 : closes ? -1 : 0;
        at += opens || closes ? 2 : 1;
    }
    return at;
}

} // namespace

value integer(i64 n) noexcept { return value(n); }
value real(f64 x) noexcept { return value(x); }
value text(const string& s) noexcept { return value(value::storage::text, s); }
value blob(const bytes& data) { return value(value::storage::blob, data.text()); }
value boolean(bool b) noexcept { return value(b); }
value null() noexcept { return value(); }

error postgres_error(const char* what, const string& path, const fault& f) {
    string head = string::literal(what) + string::literal(" ") + path + string::literal(": ");
    error cause =
        f.detail.empty() ? error(f.code, f.why) : error(f.code, f.why, error(f.code, f.detail));
    return error(f.code, head + f.why, cause);
}

value value_of(u32 type, const char* text, i64 size) {
    string s(text, size);
    switch (type) {
    case type_bool: return value(size == 1 && text[0] == 't');
    case type_int2:
    case type_int4:
    case type_int8:
    case type_oid: {
        option<i64> n = s.to_int();
        return n.has() ? value(*n) : value(value::storage::text, s);
    }
    case type_float4:
    case type_float8: return value(strtod(text, nullptr)); // which reads NaN and Infinity, too
    case type_numeric: return value(value::storage::numeric, s);
    case type_bytea: {
        usize n = 0;
        unsigned char* data = PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &n);
        if (data == nullptr) die_out_of_memory();
        value v(value::storage::blob, string(reinterpret_cast<char*>(data), static_cast<i64>(n)));
        PQfreemem(data);
        return v;
    }
    default: return value(value::storage::text, s);
    }
}

bool controls_transactions(const string& sql) noexcept {
    const char* at = sql.data();
    const char* end = at + sql.size();
    for (const char* was = nullptr; was != at;) {
        was = at;
        while (at < end && (is_space(*at) || *at == ';')) at++;
        at = skip_comment(at, end);
    }
    char word[16];
    usize n = 0;
    while (at < end && n < sizeof word && (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z')
        word[n++] = static_cast<char>(*at++ | 0x20);
    static const char* const words[] = {"begin", "start",     "commit",  "end",    "rollback",
                                        "abort", "savepoint", "release", "prepare"};
    for (const char* w : words)
        if (strlen(w) == n && memcmp(w, word, n) == 0) return true;
    return false;
}

} // namespace eve::db::postgres

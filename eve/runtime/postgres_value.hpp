#pragma once
// Values, rows and errors of module db.postgres.
#include "db_value.hpp"

namespace eve::db::postgres {

// The code of an error: an SQLSTATE of five letters and digits, as a number in base 36.
constexpr i64 code_of(const char* state) noexcept {
    i64 n = 0;
    for (int i = 0; i < 5; i++) {
        char c = state[i];
        n = n * 36 + (c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 0);
    }
    return n;
}

constexpr i64 out_of_range = code_of("42703"); // undefined_column
constexpr i64 mismatch = code_of("42804");     // datatype_mismatch

using value = db::value;
using row = row_of<out_of_range, mismatch>;
using arguments = vector<value>;

value integer(i64 n) noexcept;
value real(f64 x) noexcept;
value text(const string& s) noexcept;
value blob(const bytes& data);
value boolean(bool b) noexcept;
value null() noexcept;

// An error, before it becomes a value. Code 0: none.
struct fault {
    i64 code = 0;
    string why;
    string detail; // what the server says about it; may be empty
    explicit operator bool() const noexcept { return code != 0; }
};

// "run host:5432/a: no such table: b", with the second half as its cause, and the detail as that
// one's.
error postgres_error(const char* what, const string& path, const fault& f);

// The value of a column that the server sends as text, whose type has this oid.
value value_of(u32 type, const char* text, i64 size);

// Whether a statement begins with a word that would begin or end a transaction, or prepare one, of
// which the program's other tasks know nothing. Spaces and comments before the word do not count.
bool controls_transactions(const string& sql) noexcept;

} // namespace eve::db::postgres

#pragma once
// Values and rows of module db.sqlite.
#include "db_value.hpp"

namespace eve::db::sqlite {

constexpr i64 out_of_range = 25; // SQLITE_RANGE
constexpr i64 mismatch = 20;     // SQLITE_MISMATCH

using value = db::value;
using row = row_of<out_of_range, mismatch>;

value integer(i64 n) noexcept;
value real(f64 x) noexcept;
value text(const string& s) noexcept;
value blob(const bytes& data);
value null() noexcept;

// An error with a code of SQLite: "run a.db: no such table: b", with the second half as its cause.
error sqlite_error(const char* what, const string& path, int code, const string& why);

} // namespace eve::db::sqlite

#include "sqlite_value.hpp"

#include <sqlite3.h>

namespace eve::db::sqlite {

static_assert(out_of_range == SQLITE_RANGE && mismatch == SQLITE_MISMATCH);

value integer(i64 n) noexcept { return value(n); }
value real(f64 x) noexcept { return value(x); }
value text(const string& s) noexcept { return value(value::storage::text, s); }
value blob(const bytes& data) { return value(value::storage::blob, data.text()); }
value null() noexcept { return value(); }

error sqlite_error(const char* what, const string& path, int code, const string& why) {
    string head = string::literal(what) + string::literal(" ") + path + string::literal(": ");
    return error(code, head + why, error(code, why));
}

} // namespace eve::db::sqlite

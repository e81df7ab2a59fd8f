#include "sqlite_value.hpp"

#include <sqlite3.h>

namespace eve::db::sqlite {

namespace {

const char* name_of(value::storage k) noexcept {
    switch (k) {
    case value::storage::null: return "null";
    case value::storage::integer: return "integer";
    case value::storage::real: return "real";
    case value::storage::text: return "text";
    case value::storage::blob: return "blob";
    }
    return "";
}

error no_column(const string& name) {
    return error(SQLITE_RANGE, string::literal("there is no column ") + name);
}

error wrong_kind(const string& name, value::storage is, value::storage wanted) {
    return error(SQLITE_MISMATCH, string::literal("column ") + name + string::literal(" is ") +
                                      string::literal(name_of(is)) + string::literal(", not ") +
                                      string::literal(name_of(wanted)));
}

} // namespace

value integer(i64 n) noexcept { return value(n); }
value real(f64 x) noexcept { return value(x); }
value text(const string& s) noexcept { return value(value::storage::text, s); }
value blob(const bytes& data) { return value(value::storage::blob, data.text()); }
value null() noexcept { return value(); }

string value::kind() const noexcept { return string::literal(name_of(kind_)); }

const value* row::find(const string& column) const noexcept {
    if (!all_) return nullptr;
    const table_of_rows& all = *all_;
    for (i64 i = 0; i < all.columns.size(); i++)
        if (all.columns[i] == column) return &all.cells[first_ + i];
    return nullptr;
}

vector<string> row::columns() const { return all_ ? all_->columns.copy() : vector<string>(); }

result<bool> row::is_null(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    return v->is() == value::storage::null;
}

result<string> row::kind(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    return string::literal(name_of(v->is()));
}

result<i64> row::integer(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    if (v->is() != value::storage::integer)
        return wrong_kind(column, v->is(), value::storage::integer);
    return v->as_integer();
}

result<f64> row::real(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    if (v->is() == value::storage::integer) return f64(v->as_integer());
    if (v->is() != value::storage::real) return wrong_kind(column, v->is(), value::storage::real);
    return v->as_real();
}

result<string> row::text(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    if (v->is() != value::storage::text) return wrong_kind(column, v->is(), value::storage::text);
    return v->as_text();
}

result<bytes> row::blob(const string& column) const {
    const value* v = find(column);
    if (v == nullptr) return no_column(column);
    if (v->is() != value::storage::blob) return wrong_kind(column, v->is(), value::storage::blob);
    return v->as_text().bytes();
}

u64 row::hash_value() const noexcept {
    u64 h = 0;
    for (i64 i = 0; all_ && i < all_->columns.size(); i++)
        h = hash_join(h, hash_join(hash_of(all_->columns[i]), hash_of(all_->cells[first_ + i])));
    return h;
}

bool operator==(const row& a, const row& b) noexcept {
    i64 n = a.all_ ? a.all_->columns.size() : 0;
    if (n != (b.all_ ? b.all_->columns.size() : 0)) return false;
    for (i64 i = 0; i < n; i++) {
        if (!(a.all_->columns[i] == b.all_->columns[i])) return false;
        if (!(a.all_->cells[a.first_ + i] == b.all_->cells[b.first_ + i])) return false;
    }
    return true;
}

error sqlite_error(const char* what, const string& path, int code, const string& why) {
    string head = string::literal(what) + string::literal(" ") + path + string::literal(": ");
    return error(code, head + why, error(code, why));
}

} // namespace eve::db::sqlite

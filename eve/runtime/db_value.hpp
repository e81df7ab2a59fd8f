#pragma once
// Values and rows of the modules of databases. Both are copied by =: what they hold is counted.
#include "object.hpp"
#include "vector.hpp"
#include "result.hpp"

namespace eve::db {

// A value of one column or parameter. The zero value is null.
class value {
public:
    // SQLite has no boolean and no numeric.
    enum class storage : u8 { null, integer, real, text, blob, boolean, numeric };

    value() noexcept = default;
    explicit value(i64 n) noexcept : bits_(n), kind_(storage::integer) {}
    explicit value(f64 x) noexcept : bits_(__builtin_bit_cast(i64, x)), kind_(storage::real) {}
    explicit value(bool b) noexcept : bits_(b ? 1 : 0), kind_(storage::boolean) {}
    // A text, the bytes of a blob, or the digits of a numeric.
    value(storage k, string s) noexcept : text_(move(s)), kind_(k) {}

    // "null", "integer", "real", "text", "blob", "boolean" or "numeric".
    string kind() const noexcept { return string::literal(name_of(kind_)); }
    storage is() const noexcept { return kind_; }
    i64 as_integer() const noexcept { return bits_; }
    f64 as_real() const noexcept { return __builtin_bit_cast(f64, bits_); }
    bool as_boolean() const noexcept { return bits_ != 0; }
    const string& as_text() const noexcept { return text_; }

    static const char* name_of(storage k) noexcept {
        switch (k) {
        case storage::null: return "null";
        case storage::integer: return "integer";
        case storage::real: return "real";
        case storage::text: return "text";
        case storage::blob: return "blob";
        case storage::boolean: return "boolean";
        case storage::numeric: return "numeric";
        }
        return "";
    }

    u64 hash_value() const noexcept {
        return hash_join(hash_join(hash_of(u8(kind_)), hash_of(bits_)), hash_of(text_));
    }
    friend bool operator==(const value& a, const value& b) noexcept {
        return a.kind_ == b.kind_ && a.bits_ == b.bits_ && a.text_ == b.text_;
    }

private:
    string text_;
    i64 bits_ = 0;
    storage kind_ = storage::null;
};

// The rows of one result, which never change.
struct table_of_rows {
    vector<string> columns;
    vector<value> cells; // of one row behind the other
};

// One row of a result, in a module with these codes of errors. The zero value has no columns.
template <i64 NoColumn, i64 Mismatch> class row_of {
public:
    row_of() noexcept = default;
    row_of(ref<table_of_rows> all, i64 first) noexcept : all_(move(all)), first_(first) {}
    // The rows of a whole result.
    static vector<row_of> each(table_of_rows&& rows) {
        vector<row_of> all;
        i64 width = rows.columns.size();
        i64 cells = rows.cells.size();
        if (cells == 0) return all;
        ref<table_of_rows> shared = make<table_of_rows>(move(rows));
        all.reserve(cells / width);
        for (i64 first = 0; first < cells; first += width) all.push(row_of(shared, first));
        return all;
    }

    vector<string> columns() const { return all_ ? all_->columns.copy() : vector<string>(); }
    result<bool> is_null(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        return v->is() == value::storage::null;
    }
    // What value::kind returns.
    result<string> kind(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        return v->kind();
    }
    result<i64> integer(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        if (v->is() == value::storage::integer) return v->as_integer();
        if (v->is() == value::storage::numeric)
            if (option<i64> whole = v->as_text().to_int(); whole.has()) return *whole;
        return wrong_kind(column, v->is(), value::storage::integer);
    }
    // Takes an integer and a numeric, too.
    result<f64> real(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        if (v->is() == value::storage::integer) return f64(v->as_integer());
        if (v->is() == value::storage::real) return v->as_real();
        if (v->is() == value::storage::numeric)
            if (option<f64> near = v->as_text().to_float(); near.has()) return *near;
        return wrong_kind(column, v->is(), value::storage::real);
    }
    // Takes the digits of a numeric, too.
    result<string> text(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        if (v->is() == value::storage::text || v->is() == value::storage::numeric)
            return v->as_text();
        return wrong_kind(column, v->is(), value::storage::text);
    }
    result<bytes> blob(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        if (v->is() == value::storage::blob) return v->as_text().bytes();
        return wrong_kind(column, v->is(), value::storage::blob);
    }
    result<bool> boolean(const string& column) const {
        const value* v = find(column);
        if (v == nullptr) return no_column(column);
        if (v->is() == value::storage::boolean) return v->as_boolean();
        return wrong_kind(column, v->is(), value::storage::boolean);
    }

    u64 hash_value() const noexcept {
        u64 h = 0;
        for (i64 i = 0; all_ && i < all_->columns.size(); i++)
            h = hash_join(h,
                          hash_join(hash_of(all_->columns[i]), hash_of(all_->cells[first_ + i])));
        return h;
    }
    friend bool operator==(const row_of& a, const row_of& b) noexcept {
        i64 n = a.all_ ? a.all_->columns.size() : 0;
        if (n != (b.all_ ? b.all_->columns.size() : 0)) return false;
        for (i64 i = 0; i < n; i++) {
            if (!(a.all_->columns[i] == b.all_->columns[i])) return false;
            if (!(a.all_->cells[a.first_ + i] == b.all_->cells[b.first_ + i])) return false;
        }
        return true;
    }

private:
    // Null if there is no such column. Of several with one name the first.
    const value* find(const string& column) const noexcept {
        if (!all_) return nullptr;
        const table_of_rows& all = *all_;
        for (i64 i = 0; i < all.columns.size(); i++)
            if (all.columns[i] == column) return &all.cells[first_ + i];
        return nullptr;
    }
    static error no_column(const string& name) {
        return error(NoColumn, string::literal("there is no column ") + name);
    }
    static error wrong_kind(const string& name, value::storage is, value::storage wanted) {
        return error(Mismatch, string::literal("column ") + name + string::literal(" is ") +
                                   string::literal(value::name_of(is)) + string::literal(", not ") +
                                   string::literal(value::name_of(wanted)));
    }

    ref<table_of_rows> all_; // null: no columns
    i64 first_ = 0;
};

} // namespace eve::db

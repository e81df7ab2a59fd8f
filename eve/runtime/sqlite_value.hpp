#pragma once
// Values and rows of module db.sqlite. Both are copied by =: what they hold is counted.
#include "object.hpp"
#include "vector.hpp"
#include "result.hpp"

namespace eve::db::sqlite {

// A value of one of SQLite's storage classes. The zero value is null.
class value {
public:
    enum class storage : u8 { null, integer, real, text, blob };

    value() noexcept = default;
    explicit value(i64 n) noexcept : bits_(n), kind_(storage::integer) {}
    explicit value(f64 x) noexcept : bits_(__builtin_bit_cast(i64, x)), kind_(storage::real) {}
    // A text, or the bytes of a blob.
    value(storage k, string s) noexcept : text_(move(s)), kind_(k) {}

    // "null", "integer", "real", "text" or "blob".
    string kind() const noexcept;
    storage is() const noexcept { return kind_; }
    i64 as_integer() const noexcept { return bits_; }
    f64 as_real() const noexcept { return __builtin_bit_cast(f64, bits_); }
    const string& as_text() const noexcept { return text_; }

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

value integer(i64 n) noexcept;
value real(f64 x) noexcept;
value text(const string& s) noexcept;
value blob(const bytes& data);
value null() noexcept;

// The rows of one result, which never change.
struct table_of_rows {
    vector<string> columns;
    vector<value> cells; // of one row behind the other
};

// One row of a result. The zero value has no columns.
class row {
public:
    row() noexcept = default;
    row(ref<table_of_rows> all, i64 first) noexcept : all_(move(all)), first_(first) {}

    vector<string> columns() const;
    result<bool> is_null(const string& column) const;
    // "null", "integer", "real", "text" or "blob".
    result<string> kind(const string& column) const;
    result<i64> integer(const string& column) const;
    // Takes an integer, too.
    result<f64> real(const string& column) const;
    result<string> text(const string& column) const;
    result<bytes> blob(const string& column) const;

    u64 hash_value() const noexcept;
    friend bool operator==(const row& a, const row& b) noexcept;

private:
    // Null if there is no such column. Of several with one name the first.
    const value* find(const string& column) const noexcept;

    ref<table_of_rows> all_; // null: no columns
    i64 first_ = 0;
};

// An error with a code of SQLite: "run a.db: no such table: b", with the second half as its cause.
error sqlite_error(const char* what, const string& path, int code, const string& why);

} // namespace eve::db::sqlite

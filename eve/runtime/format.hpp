#pragma once
// formatter: builds text from pieces. Every printable type has a put; a struct or union has a
// method `print_to(formatter&, const spec&) const`.
//
// 'v' writes numbers in decimal, floats as the shortest text that reads back the same, bools as
// true and false, options as their value or none, results as their value or their error's text,
// [1, 2] for vectors, slices and arrays, {1, 2} for sets, {a: 1} for maps, (1, 2) for tuples. u8
// and char are one C++ type, and so are i64 and duration. So the emitter passes 'c' for a char,
// 's' for bytes and 't' for a duration. A spec applies to the elements too.
#include "string.hpp"

namespace eve {

struct spec {
    char verb = 'v';
    short width = -1, prec = -1; // in characters
    bool zero = false, left = false;
    // The verbs of the parts of tuples and maps, where they differ: "vt" for map<string,
    // duration>. It has one verb for each simple part, in their order, through all tuples and maps
    // inside. Null: `verb` is for all.
    const char* verbs = nullptr;

    // The spec of the part behind `skipped` simple parts.
    spec part(int skipped) const noexcept {
        spec s = *this;
        if (verbs == nullptr) return s;
        s.verbs = verbs + skipped;
        s.verb = *s.verbs;
        return s;
    }
};

template <class T, i64 N> class array;
template <class T> class slice;
template <class K, class V> class map;
template <class T> class set;
template <class T> class result;
template <class... Ts> struct tuple;
class error;
struct instant;

// The number of simple parts (parts without parts) of a value of type T, as spec::verbs counts
// them.
template <class T> inline constexpr int simple_parts = 1;
template <class T> inline constexpr int simple_parts<vector<T>> = simple_parts<T>;
template <class T> inline constexpr int simple_parts<slice<T>> = simple_parts<T>;
template <class T, i64 N> inline constexpr int simple_parts<array<T, N>> = simple_parts<T>;
template <class T> inline constexpr int simple_parts<set<T>> = simple_parts<T>;
template <class T> inline constexpr int simple_parts<option<T>> = simple_parts<T>;
template <class T> inline constexpr int simple_parts<result<T>> = simple_parts<T>;
template <class K, class V>
inline constexpr int simple_parts<map<K, V>> = simple_parts<K> + simple_parts<V>;
template <class... Ts>
inline constexpr int simple_parts<tuple<Ts...>> = (0 + ... + simple_parts<Ts>);

class formatter {
public:
    formatter() noexcept : at_(inline_), size_(0), room_(inline_room) {}
    formatter(const formatter&) = delete;
    formatter& operator=(const formatter&) = delete;
    ~formatter();

    // Writes s as it is.
    void text(const char* s, i64 n) {
        if (n > room_ - size_) [[unlikely]]
            grow(n);
        __builtin_memcpy(at_ + size_, s, u64(n));
        size_ += n;
    }
    void byte(char c) {
        if (size_ == room_) [[unlikely]]
            grow(1);
        at_[size_++] = c;
    }
    const char* data() const noexcept { return at_; }
    i64 size() const noexcept { return size_; }
    void clear() noexcept { size_ = 0; }
    // Returns the text. The formatter is empty then.
    string take();

    void put(const string& s, const spec& how = {}) {
        if (how.width < 0 && how.prec < 0 && how.verb != 'x') [[likely]]
            text(s.data(), s.size());
        else put_text(s.data(), s.size(), how);
    }
    void put(bool x, const spec& how = {});
    void put(i64 x, const spec& how = {}) { put_signed(x, how); }
    void put(i32 x, const spec& how = {}) { put_signed(x, how); }
    void put(i16 x, const spec& how = {}) { put_signed(x, how); }
    void put(i8 x, const spec& how = {}) { put_signed(x, how); }
    void put(u64 x, const spec& how = {}) { put_unsigned(x, how); }
    void put(u32 x, const spec& how = {}) { put_unsigned(x, how); }
    void put(u16 x, const spec& how = {}) { put_unsigned(x, how); }
    void put(u8 x, const spec& how = {}) {
        if (how.verb == 'c') put_char(x, how);
        else put_unsigned(x, how);
    }
    void put(f64 x, const spec& how = {});
    void put(f32 x, const spec& how = {});
    void put(const error& e, const spec& how = {});
    void put(const instant& t, const spec& how = {});
    void put(none_type, const spec& how = {}) { put_text("none", 4, how); }
    void put_text(const char* s, i64 n, const spec& how);

    template <class T> void put(const vector<T>& v, const spec& how = {}) { put(v.all(), how); }
    template <class T, i64 N> void put(const array<T, N>& v, const spec& how = {}) {
        put(v.all(), how);
    }
    template <class T> void put(const slice<T>& v, const spec& how = {}) {
        if constexpr (__is_same(T, u8)) {
            if (how.verb == 's' ||
                how.verb == 'x') { // for an array, 'c' says that each element is a char
                return put_text(reinterpret_cast<const char*>(v.data()), v.size(), how);
            }
        }
        put_all(v, '[', ']', how);
    }
    template <class T> void put(const set<T>& s, const spec& how = {}) {
        put_all(s, '{', '}', how);
    }
    template <class K, class V> void put(const map<K, V>& m, const spec& how = {}) {
        bool first = true;
        spec of_key = how.part(0), of_value = how.part(simple_parts<K>);
        byte('{');
        for (const auto& e : m) {
            if (!first) text(", ", 2);
            first = false;
            put(e.head, of_key);
            text(": ", 2);
            put(e.tail.head, of_value);
        }
        byte('}');
    }
    template <class... Ts> void put(const tuple<Ts...>& t, const spec& how = {}) {
        byte('(');
        put_tail(t, how);
        byte(')');
    }
    template <class T> void put(const option<T>& x, const spec& how = {}) {
        if (x.has()) put(*x, how);
        else put(none, how);
    }
    template <class T> void put(const result<T>& x, const spec& how = {}) {
        if constexpr (!__is_same(T, void)) {
            if (x.ok()) return put(*x, how);
        }
        if (!x.ok()) put(x.why(), how);
    }
    template <class T>
    requires requires(const T& x, formatter& f, const spec& how) { x.print_to(f, how); }
    void put(const T& x, const spec& how = {}) { x.print_to(*this, how); }

private:
    static constexpr i64 inline_room = 232;

    void put_signed(i64 x, const spec& how);
    void put_unsigned(u64 x, const spec& how);
    void put_char(u8 c, const spec& how);
    void put_number(bool minus, const char* digits, i64 n, const spec& how);
    void put_float(f64 x, bool narrow, const spec& how);
    void pad(i64 n, char with);
    [[gnu::cold, gnu::noinline]] void grow(i64 n);

    template <class C> void put_all(const C& c, char open, char close, const spec& how) {
        bool first = true;
        byte(open);
        for (const auto& x : c) {
            if (!first) text(", ", 2);
            first = false;
            put(x, how);
        }
        byte(close);
    }
    template <class Head, class... Rest>
    void put_tail(const tuple<Head, Rest...>& t, const spec& how) {
        put(t.head, how.part(0));
        if constexpr (sizeof...(Rest) > 0) {
            text(", ", 2);
            put_tail(t.tail, how.part(simple_parts<Head>));
        }
    }
    void put_tail(const tuple<>&, const spec&) {}

    char* at_; // inline_, or the text of `long_`
    i64 size_;
    i64 room_;
    string long_;
    char inline_[inline_room];
};

// The text of the value, as %v writes it.
template <class T> string to_text(const T& x) {
    formatter f;
    f.put(x);
    return f.take();
}

} // namespace eve

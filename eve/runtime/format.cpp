// Writing numbers and text, and parsing them.
#include "format.hpp"

#include "instant.hpp"
#include "result.hpp"
#include "vector.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace eve {

formatter::~formatter() = default;

void formatter::grow(i64 n) {
    i64 next = room_ + (n > room_ ? n : room_);
    string longer;
    char* to = longer.prepare(next);
    std::memcpy(to, at_, u64(size_));
    long_ = static_cast<string&&>(longer);
    at_ = to;
    room_ = next;
}

string formatter::take() {
    string s;
    if (at_ == inline_) {
        s = string(at_, size_);
    } else {
        long_.shorten(size_);
        s = static_cast<string&&>(long_);
        at_ = inline_;
        room_ = inline_room;
    }
    size_ = 0;
    return s;
}

void formatter::pad(i64 n, char with) {
    for (; n > 0; --n) byte(with);
}

namespace {

bool is_first(char c) noexcept { return (u8(c) & 0xc0) != 0x80; }

i64 characters(const char* s, i64 n) noexcept {
    i64 count = 0;
    for (i64 i = 0; i < n; ++i) count += is_first(s[i]);
    return count;
}

// The size in bytes of the first `most` characters.
i64 bytes_of(const char* s, i64 n, i64 most) noexcept {
    i64 i = 0;
    for (; i < n; ++i) {
        if (is_first(s[i]) && most-- == 0) break;
    }
    return i;
}

} // namespace

void formatter::put_text(const char* s, i64 n, const spec& how) {
    if (how.verb == 'x') {
        spec plain = how;
        plain.verb = 's';
        bytes raw;
        raw.append(slice<character>(reinterpret_cast<const character*>(s), n));
        return put(raw.hex(), plain);
    }
    if (how.prec >= 0) n = bytes_of(s, n, how.prec);
    i64 blank = how.width < 0 ? 0 : how.width - characters(s, n);
    if (!how.left) pad(blank, ' ');
    text(s, n);
    if (how.left) pad(blank, ' ');
}

void formatter::put(bool x, const spec& how) {
    if (x) put_text("true", 4, how);
    else put_text("false", 5, how);
}

void formatter::put_char(u8 c, const spec& how) {
    char text = char(c);
    i64 blank = how.width < 0 ? 0 : how.width - 1;
    if (!how.left) pad(blank, ' ');
    byte(text);
    if (how.left) pad(blank, ' ');
}

// prec is the least number of digits.
void formatter::put_number(bool minus, const char* digits, i64 n, const spec& how) {
    i64 zeros = how.prec > n ? how.prec - n : 0;
    i64 blank = how.width - n - zeros - minus;
    if (blank > 0 && how.zero && !how.left && how.prec < 0) {
        zeros = blank;
        blank = 0;
    }
    if (!how.left) pad(blank, ' ');
    if (minus) byte('-');
    pad(zeros, '0');
    text(digits, n);
    if (how.left) pad(blank, ' ');
}

namespace {

constexpr char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353"
                         "6373839404142434445464748"
                         "4950515253545556575859606162636465666768697071727374757677787980818283848"
                         "5868788899091929394959697"
                         "9899";

// Writes x so that it ends before `end`. Returns its start.
char* write_decimal(u64 x, char* end) noexcept {
    for (; x >= 100; x /= 100) {
        end -= 2;
        std::memcpy(end, pairs + x % 100 * 2, 2);
    }
    if (x >= 10) {
        end -= 2;
        std::memcpy(end, pairs + x * 2, 2);
    } else {
        *--end = char('0' + x);
    }
    return end;
}

char* write_power_of_two(u64 x, int bits, char* end) noexcept {
    do *--end = "0123456789abcdef"[x & ((1u << bits) - 1)];
    while ((x >>= bits) != 0);
    return end;
}

// The same width, for text in place of a number.
spec bare_spec(const spec& how) noexcept {
    spec s = how;
    s.verb = 's';
    s.prec = -1;
    return s;
}

char* write_in(char verb, u64 x, char* end) noexcept {
    switch (verb) {
    case 'x': return write_power_of_two(x, 4, end);
    case 'o': return write_power_of_two(x, 3, end);
    case 'b': return write_power_of_two(x, 1, end);
    default: return write_decimal(x, end);
    }
}

} // namespace

void formatter::put_signed(i64 x, const spec& how) {
    if (how.verb == 'c') return put(string::of_rune(x), bare_spec(how));
    if (how.verb == 't') return put(duration_text(x), bare_spec(how));
    char digits[64];
    char* end = digits + sizeof digits;
    char* begin = write_in(how.verb, x < 0 ? wrap_neg(u64(x)) : u64(x), end);
    if (how.width < 0 && how.prec < 0) [[likely]] {
        if (x < 0) byte('-');
        return text(begin, end - begin);
    }
    put_number(x < 0, begin, end - begin, how);
}

void formatter::put_unsigned(u64 x, const spec& how) {
    if (how.verb == 'c') return put(string::of_rune(x > 0x10ffff ? -1 : i64(x)), bare_spec(how));
    char digits[64];
    char* end = digits + sizeof digits;
    char* begin = write_in(how.verb, x, end);
    put_number(false, begin, end - begin, how);
}

namespace {

// A double has at most 767 significant digits, and 309 before the point.
constexpr int longest_prec = 800;
constexpr int float_room = longest_prec + 330;

// 'v' and 'g': without an exponent from 1e-4 to below 1e21, else with one.
template <class F> char* write_shortest(char* to, char* end, F x) noexcept {
    F size = x < 0 ? -x : x;
    bool plain = size == 0 || (size >= F(1e-4) && size < F(1e21));
    return std::to_chars(to, end, x,
                         plain ? std::chars_format::fixed : std::chars_format::scientific)
        .ptr;
}

template <class F> char* write_float(char* to, char* end, F x, const spec& how) noexcept {
    int prec = how.prec > longest_prec ? longest_prec : how.prec;
    switch (how.verb) {
    case 'f': return std::to_chars(to, end, x, std::chars_format::fixed, prec < 0 ? 6 : prec).ptr;
    case 'e':
        return std::to_chars(to, end, x, std::chars_format::scientific, prec < 0 ? 6 : prec).ptr;
    case 'g':
        if (prec >= 0) return std::to_chars(to, end, x, std::chars_format::general, prec).ptr;
        return write_shortest(to, end, x);
    default:
        if (prec >= 0) return std::to_chars(to, end, x, std::chars_format::fixed, prec).ptr;
        return write_shortest(to, end, x);
    }
}

} // namespace

// narrow: x was an f32, whose shortest text is shorter.
void formatter::put_float(f64 x, bool narrow, const spec& how) {
    spec rest = how;
    rest.prec = -1;
    bool minus = __builtin_signbit(x);
    if (x != x) return put_text("nan", 3, rest);
    if (minus) x = -x;
    if (x == __builtin_inf()) {
        rest.zero = false;
        return put_number(minus, "inf", 3, rest);
    }
    char digits[float_room];
    char* end = digits + sizeof digits;
    char* last = narrow ? write_float(digits, end, f32(x), how) : write_float(digits, end, x, how);
    put_number(minus, digits, last - digits, rest);
}

void formatter::put(f64 x, const spec& how) { put_float(x, false, how); }
void formatter::put(f32 x, const spec& how) { put_float(f64(x), true, how); }
void formatter::put(const error& e, const spec& how) { put(e.text(), how); }
void formatter::put(const instant& t, const spec& how) { put(t.iso(), how); }

namespace {

// Skips a plus sign, which from_chars does not accept.
const char* past_plus(const char* text, i64 size) noexcept {
    return size > 1 && text[0] == '+' && text[1] != '-' ? text + 1 : text;
}

} // namespace

option<i64> string::to_int() const noexcept {
    const char* end = data() + size();
    i64 x = 0;
    auto [stop, why] = std::from_chars(past_plus(data(), size()), end, x);
    if (why != std::errc() || stop != end) return none;
    return x;
}

// A number too small for a float is 0; one too large is none. "inf" and "nan" are floats,
// "nan(..)" is not.
option<f64> string::to_float() const noexcept {
    const char* end = data() + size();
    f64 x = 0;
    auto [stop, why] = std::from_chars(past_plus(data(), size()), end, x);
    if (stop != end || why == std::errc::invalid_argument || (size() > 0 && end[-1] == ')'))
        return none;
    if (why == std::errc()) return x;
    // strtod tells too small from too large, but needs a terminating zero.
    string ended = *this + string::of(0);
    x = std::strtod(ended.data(), nullptr);
    if (x > 1 || x < -1) return none;
    return x;
}

} // namespace eve

// Strings of more than 15 bytes, and methods that make new strings.
#include "string.hpp"

#include "vector.hpp"

#include <cstring>

namespace eve {

namespace {

// The head before the bytes of a counted string.
struct alignas(16) head {
    u32 count;
    i64 room; // capacity behind it, in bytes
};
static_assert(sizeof(head) == 16);

constexpr i64 largest_size = (i64(1) << 56) - 1;
// Shorter parts are copied: a copy of so few bytes costs less than keeping a long text alive.
constexpr i64 least_share = 256;

char* new_text(i64 room) {
    if (room > largest_size) die_out_of_memory();
    head* h = static_cast<head*>(buffer_new(room + i64(sizeof(head)), 1));
    h->count = 1;
    h->room = room;
    return reinterpret_cast<char*>(h + 1);
}

head* head_of(char* text) noexcept { return reinterpret_cast<head*>(text) - 1; }

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

} // namespace

string::string(const char* text, i64 size) : word_{0, 0} {
    if (size > 0) std::memcpy(prepare(size), text, u64(size));
}

string string::of_rune(i64 code) noexcept {
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    u64 c = u64(code);
    char text[4] = {char(c)};
    i64 n = 1;
    if (c >= 0x80) {
        n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (i64 i = n; i-- > 1; c >>= 6) text[i] = char(0x80 | (c & 0x3f));
        text[0] = char((0xf00 >> n & 0xff) | c);
    }
    return string(text, n);
}

char* string::buffer_text() const noexcept {
    char* text = reinterpret_cast<char*>(word_[0]);
    return tag() == part_tag ? text - (word_[1] >> 28 & part_mask) : text;
}

void string::retain() const noexcept {
    __atomic_fetch_add(&head_of(buffer_text())->count, 1u, __ATOMIC_RELAXED);
}

void string::release() noexcept {
    head* h = head_of(buffer_text());
    if (__atomic_fetch_sub(&h->count, 1u, __ATOMIC_ACQ_REL) == 1) buffer_free(h);
}

bool string::equal_long(const string& a, const string& b) noexcept {
    i64 n = a.size();
    return n == b.size() && std::memcmp(a.data(), b.data(), u64(n)) == 0;
}

int string::compare(const string& a, const string& b) noexcept {
    i64 n = a.size(), m = b.size();
    int c = std::memcmp(a.data(), b.data(), u64(n < m ? n : m));
    return c != 0 ? c : (n > m) - (n < m);
}

// A part of a counted string or a literal, without copying.
string string::share(i64 low, i64 size) const {
    string s;
    s.word_[0] = word_[0] + u64(low);
    if (tag() == literal_tag) {
        s.word_[1] = u64(literal_tag) << 56 | u64(size);
        return s;
    }
    u64 distance = s.word_[0] - reinterpret_cast<u64>(buffer_text());
    s.word_[1] = u64(part_tag) << 56 | distance << 28 | u64(size);
    s.retain();
    return s;
}

string string::cut(i64 low, i64 high, const site* here) const {
    i64 n = size();
    if (u64(low) > u64(high) || u64(high) > u64(n)) fail_cut(low, high, n, here);
    i64 part = high - low;
    if (part == n) return *this;
    bool fits = u64(part) <= part_mask && data() + low - buffer_text() <= i64(part_mask);
    if (part > inline_max && tag() == literal_tag) return share(low, part);
    if (part >= least_share && fits) return share(low, part);
    return string(data() + low, part);
}

bytes string::bytes() const {
    eve::bytes v;
    v.append_text(*this);
    return v;
}

string string::upper() const {
    string s;
    char* to = s.prepare(size());
    for (character c : *this) *to++ = char(c >= 'a' && c <= 'z' ? c - 32 : c);
    return s;
}

string string::lower() const {
    string s;
    char* to = s.prepare(size());
    for (character c : *this) *to++ = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return s;
}

string string::trim() const {
    const char* text = data();
    i64 low = 0, high = size();
    while (low < high && is_space(text[low])) ++low;
    while (low < high && is_space(text[high - 1])) --high;
    return cut(low, high, nullptr);
}

bool string::starts_with(const string& s) const noexcept {
    return s.size() <= size() && std::memcmp(data(), s.data(), u64(s.size())) == 0;
}

bool string::ends_with(const string& s) const noexcept {
    i64 at = size() - s.size();
    return at >= 0 && std::memcmp(data() + at, s.data(), u64(s.size())) == 0;
}

i64 string::find_from(const string& s, i64 from) const noexcept {
    if (from < 0 || from > size()) return -1;
    const char* text = data();
    const void* at = memmem(text + from, u64(size() - from), s.data(), u64(s.size()));
    return at == nullptr ? -1 : static_cast<const char*>(at) - text;
}

option<i64> string::find(const string& s) const noexcept {
    i64 at = find_from(s, 0);
    return at < 0 ? option<i64>() : option<i64>(at);
}

string string::replace(const string& old, const string& by) const {
    i64 found = 0;
    if (!old.empty()) {
        for (i64 at = 0; (at = find_from(old, at)) >= 0; at += old.size()) ++found;
    }
    if (found == 0) return *this;
    i64 grown;
    if (__builtin_mul_overflow(found, by.size() - old.size(), &grown) ||
        grown > largest_size - size())
        die_out_of_memory();
    string s;
    char* to = s.prepare(size() + grown);
    const char* text = data();
    i64 from = 0;
    for (i64 at; (at = find_from(old, from)) >= 0; from = at + old.size()) {
        to = static_cast<char*>(mempcpy(to, text + from, u64(at - from)));
        to = static_cast<char*>(mempcpy(to, by.data(), u64(by.size())));
    }
    std::memcpy(to, text + from, u64(size() - from));
    return s;
}

string string::repeat(i64 n, const site* here) const {
    if (n < 0) n = 0;
    i64 all;
    if (__builtin_mul_overflow(n, size(), &all) || all > largest_size) fail_size(n, here);
    string s;
    char* to = s.prepare(all);
    for (i64 i = 0; i < n; ++i) to = static_cast<char*>(mempcpy(to, data(), u64(size())));
    return s;
}

vector<string> string::split(const string& separator) const {
    vector<string> parts;
    i64 from = 0;
    if (!separator.empty()) {
        for (i64 at; (at = find_from(separator, from)) >= 0; from = at + separator.size()) {
            parts.push(cut(from, at, nullptr));
        }
    }
    parts.push(cut(from, size(), nullptr));
    return parts;
}

char* string::prepare(i64 size) {
    if (size <= inline_max) {
        word_[1] = u64(size) << 56;
        return reinterpret_cast<char*>(word_);
    }
    char* text = new_text(size);
    word_[0] = reinterpret_cast<u64>(text);
    word_[1] = u64(whole_tag) << 56 | u64(size);
    return text;
}

void string::shorten(i64 size) noexcept {
    if (tag() == whole_tag && size > inline_max) {
        word_[1] = u64(whole_tag) << 56 | u64(size);
        return;
    }
    *this = string(data(), size);
}

// Appends in place if this is the only string of a buffer with enough capacity. Else it makes a
// buffer of twice the size, so that building a text piece by piece takes linear time.
string& string::operator+=(const string& s) {
    i64 m = s.size();
    if (tag() == whole_tag) [[likely]] {
        char* text = reinterpret_cast<char*>(word_[0]);
        i64 n = i64(word_[1] & size_mask);
        if (head_of(text)->room - n >= m &&
            __atomic_load_n(&head_of(text)->count, __ATOMIC_ACQUIRE) == 1) [[likely]] {
            std::memcpy(text + n, s.data(), u64(m));
            word_[1] += u64(m);
            return *this;
        }
    }
    i64 n = size();
    if (m == 0) return *this;
    if (n == 0) return *this = s;
    if (m > largest_size - n) die_out_of_memory();
    string fresh = grown(n + m, &s == this);
    std::memcpy(const_cast<char*>(fresh.data()) + n, s.data(), u64(m));
    swap(fresh);
    return *this;
}

// A string of `all` bytes that begins with the bytes of this one. The buffer moves over, unless
// another string shares it or `kept` asks for this string to stay whole.
string string::grown(i64 all, bool kept) {
    string fresh;
    if (all <= inline_max) {
        std::memcpy(fresh.prepare(all), data(), u64(size()));
        return fresh;
    }
    i64 room = all < 32 ? 48 : all <= largest_size / 2 ? all * 2 : all;
    char* text;
    if (tag() == whole_tag && !kept &&
        __atomic_load_n(&head_of(buffer_text())->count, __ATOMIC_ACQUIRE) == 1) {
        head* h =
            static_cast<head*>(buffer_resize(head_of(buffer_text()), room + i64(sizeof(head)), 1));
        h->room = room;
        text = reinterpret_cast<char*>(h + 1);
        word_[0] = word_[1] = 0;
    } else {
        text = new_text(room);
        std::memcpy(text, data(), u64(size()));
    }
    fresh.word_[0] = reinterpret_cast<u64>(text);
    fresh.word_[1] = u64(whole_tag) << 56 | u64(all);
    return fresh;
}

string operator+(const string& a, const string& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    if (b.size() > largest_size - a.size()) die_out_of_memory();
    string s;
    char* to = s.prepare(a.size() + b.size());
    to = static_cast<char*>(mempcpy(to, a.data(), u64(a.size())));
    std::memcpy(to, b.data(), u64(b.size()));
    return s;
}

string join(const vector<string>& v, const string& separator) {
    if (v.empty()) return string();
    i64 all = separator.size();
    if (__builtin_mul_overflow(all, v.size() - 1, &all)) die_out_of_memory();
    for (const string& s : v) {
        if (__builtin_add_overflow(all, s.size(), &all)) die_out_of_memory();
    }
    string joined;
    char* to = joined.prepare(all);
    bool first = true;
    for (const string& s : v) {
        if (!first) to = static_cast<char*>(mempcpy(to, separator.data(), u64(separator.size())));
        first = false;
        to = static_cast<char*>(mempcpy(to, s.data(), u64(s.size())));
    }
    return joined;
}

} // namespace eve

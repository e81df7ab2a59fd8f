#pragma once
// string: immutable text of 16 bytes. Up to 15 bytes are stored in the string itself; longer texts
// in a counted buffer, or, for a literal, in constant data. A long part of a long string shares
// its buffer.
//
// Sizes, indices and cuts count bytes. The bytes are UTF-8 by convention, and not checked. A cut
// may be in the middle of a character; joining the parts gives the whole text again.
#include "hash.hpp"
#include "option.hpp"

namespace eve {

template <class T> class vector;
using bytes = vector<character>;

class string {
public:
    string() noexcept : word_{0, 0} {}
    string(const char* text, i64 size);
    explicit string(niche) noexcept : word_{0, u64(niche_tag) << 56} {}
    string(const string& o) noexcept : word_{o.word_[0], o.word_[1]} {
        if (is_counted()) [[unlikely]]
            retain();
    }
    string(string&& o) noexcept : word_{o.word_[0], o.word_[1]} { o.word_[0] = o.word_[1] = 0; }
    string& operator=(const string& o) noexcept {
        string fresh(o);
        swap(fresh);
        return *this;
    }
    string& operator=(string&& o) noexcept {
        string fresh(static_cast<string&&>(o));
        swap(fresh);
        return *this;
    }
    ~string() {
        if (is_counted()) [[unlikely]]
            release();
    }

    // text must live as long as the program.
    static string literal(const char* text, i64 size) noexcept {
        string s;
        if (size <= inline_max) __builtin_memcpy(s.word_, text, u64(size));
        s.word_[1] |= u64(size) << 56;
        if (size > inline_max) {
            s.word_[0] = reinterpret_cast<u64>(text);
            s.word_[1] = u64(literal_tag) << 56 | u64(size);
        }
        return s;
    }
    static string literal(const char* text) noexcept {
        return literal(text, i64(__builtin_strlen(text)));
    }
    // The string of one byte.
    static string of(character c) noexcept {
        string s;
        s.word_[0] = c;
        s.word_[1] = u64(1) << 56;
        return s;
    }
    // The code point in UTF-8; U+FFFD if there is no such code point.
    static string of_rune(i64 code) noexcept;
    // For an empty string: makes it `size` bytes long. The caller fills the bytes before it moves
    // or copies the string.
    char* prepare(i64 size);
    // For a prepared string that was not copied: keeps the first `size` bytes.
    void shorten(i64 size) noexcept;

    const char* data() const noexcept {
        return tag() <= inline_max ? reinterpret_cast<const char*>(word_)
                                   : reinterpret_cast<const char*>(word_[0]);
    }
    i64 size() const noexcept {
        if (tag() <= inline_max) return tag();
        return i64(word_[1] & (tag() == part_tag ? part_mask : size_mask));
    }
    bool empty() const noexcept { return word_[1] == 0; }
    bool is_niche() const noexcept { return tag() == niche_tag; }
    const character* begin() const noexcept { return reinterpret_cast<const character*>(data()); }
    const character* end() const noexcept { return begin() + size(); }
    character operator[](i64 i) const noexcept { return begin()[i]; }
    character at(i64 i, const site* here) const {
        if (u64(i) >= u64(size())) [[unlikely]]
            fail_index(i, size(), here);
        return begin()[i];
    }
    // s[low..high].
    string cut(i64 low, i64 high, const site* here) const;
    string copy() const noexcept { return *this; }

    eve::bytes bytes() const;
    string upper() const; // ASCII letters only
    string lower() const;
    string trim() const; // of ASCII white space
    bool starts_with(const string& s) const noexcept;
    bool ends_with(const string& s) const noexcept;
    bool contains(const string& s) const noexcept { return find_from(s, 0) >= 0; }
    option<i64> find(const string& s) const noexcept;
    // The index of the first match at or after `from`, or -1.
    i64 find_from(const string& s, i64 from) const noexcept;
    // Replaces every `old`. An empty `old` never matches.
    string replace(const string& old, const string& by) const;
    // A negative n counts as 0.
    string repeat(i64 n, const site* here = nullptr) const;
    // The parts between separators, one more than there are separators. An empty separator never
    // matches.
    vector<string> split(const string& separator) const;
    // Parses the whole text as a decimal number. None if it has white space or overflows.
    option<i64> to_int() const noexcept;
    option<f64> to_float() const noexcept;

    string& operator+=(const string& s);
    friend string operator+(const string& a, const string& b);
    friend string operator+(string&& a, const string& b) {
        a += b;
        return static_cast<string&&>(a);
    }

    u64 hash_value() const noexcept {
        if (tag() <= inline_max) [[likely]]
            return hash_join(word_[0], word_[1]);
        return hash_bytes(data(), u64(size()));
    }
    // Short strings are always inline and long ones never, so comparing the words decides most
    // cases.
    friend bool operator==(const string& a, const string& b) noexcept {
        if (a.word_[0] == b.word_[0] && a.word_[1] == b.word_[1]) return true;
        if (a.tag() <= inline_max || b.tag() <= inline_max) return false;
        return equal_long(a, b);
    }
    // Compares bytes: negative, 0 or positive.
    static int compare(const string& a, const string& b) noexcept;
    friend bool operator<(const string& a, const string& b) noexcept { return compare(a, b) < 0; }
    friend bool operator>(const string& a, const string& b) noexcept { return compare(a, b) > 0; }
    friend bool operator<=(const string& a, const string& b) noexcept { return compare(a, b) <= 0; }
    friend bool operator>=(const string& a, const string& b) noexcept { return compare(a, b) >= 0; }

private:
    // The kind is in the last byte, which holds the size of an inline string:
    //   literal  word 0 is the text, word 1 the size
    //   whole    the same; the head of the buffer is 16 bytes before the text
    //   part     28 bits of word 1 are the size, 28 the distance from the buffer's text
    static constexpr u32 inline_max = 15, literal_tag = 16, whole_tag = 17, part_tag = 18,
                         niche_tag = 255;
    static constexpr u64 size_mask = (u64(1) << 56) - 1;
    static constexpr u64 part_mask = (u64(1) << 28) - 1;
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                  "the size of an inline string is its last byte");

    u32 tag() const noexcept { return u32(word_[1] >> 56); }
    bool is_counted() const noexcept { return tag() - whole_tag <= part_tag - whole_tag; }
    void swap(string& o) noexcept {
        u64 first = word_[0], second = word_[1];
        word_[0] = o.word_[0];
        word_[1] = o.word_[1];
        o.word_[0] = first;
        o.word_[1] = second;
    }
    void retain() const noexcept;
    void release() noexcept;
    char* buffer_text() const noexcept;
    string share(i64 low, i64 size) const;
    string grown(i64 all, bool kept);
    static bool equal_long(const string& a, const string& b) noexcept;

    u64 word_[2];
};

static_assert(sizeof(string) == 16);

string operator+(const string& a, const string& b);
// The strings of v with separator between them.
string join(const vector<string>& v, const string& separator);

} // namespace eve

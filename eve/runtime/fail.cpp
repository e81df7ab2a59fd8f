// The messages of traps, and the text of a failure.
#include "fail.hpp"

#include "failure.hpp"
#include "format.hpp"
#include "output.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace eve {

namespace {

void put(formatter& f, const char* text) { f.text(text, i64(std::strlen(text))); }

void put_site(formatter& f, const site& at) {
    put(f, at.file);
    f.byte(':');
    f.put(i64(at.line));
}

void put_range(formatter& f, i64 size) {
    put(f, size == 1 ? " is out of range: there is " : " is out of range: there are ");
    f.put(size);
    put(f, size == 1 ? " element" : " elements");
}

// The most bytes of a value that the failure of an assertion shows. side.go of the interpreter has
// the same number.
constexpr i64 side_size = 400;

// The longest start of the text that ends between two characters and is not longer than side_size.
i64 shown_size(const string& s) {
    if (s.size() <= side_size) return s.size();
    i64 end = side_size;
    while (end > 0 && (s.data()[end] & 0xc0) == 0x80) end--;
    return end;
}

void put_quoted(formatter& f, const char* s, i64 n) {
    f.byte('"');
    for (i64 i = 0; i < n; i++) {
        char c = s[i];
        if (c == '"' || c == '\\') {
            f.byte('\\');
            f.byte(c);
        } else if (c == '\n') put(f, "\\n");
        else if (c == '\t') put(f, "\\t");
        else if (u8(c) < ' ' || c == 0x7f) {
            put(f, "\\x");
            f.put(i64(c), {.verb = 'x', .width = 2, .zero = true});
        } else f.byte(c);
    }
    f.byte('"');
}

void put_side(formatter& f, const string& s, bool quoted) {
    i64 n = shown_size(s);
    if (quoted) put_quoted(f, s.data(), n);
    else f.text(s.data(), n);
    if (n < s.size()) put(f, "...");
}

[[noreturn]] void raise(const site* at, string text) {
    throw failure(at, error(0, static_cast<string&&>(text)));
}

} // namespace

void fail(const site* at, const string& text) { raise(at, text); }
void fail(const site* at, const char* text) { raise(at, string::literal(text)); }
void fail(const site* at, const error& cause) { throw failure(at, cause); }
void fail(const char* file, int line, const string& text) {
    site at{file, line};
    raise(&at, text);
}

void fail_assert(const site* at, const char* expression) {
    formatter f;
    put(f, "assertion failed: ");
    put(f, expression);
    raise(at, f.take());
}

void fail_assert(const site* at, const char* expression, const string& message) {
    formatter f;
    put(f, "assertion failed: ");
    put(f, expression);
    put(f, ": ");
    f.put(message);
    raise(at, f.take());
}

void fail_compared(const site* at, const char* expression, const string& left, const string& right,
                   bool quoted) {
    formatter f;
    put(f, "assertion failed: ");
    put(f, expression);
    put(f, ": left is ");
    put_side(f, left, quoted);
    put(f, ", right is ");
    put_side(f, right, quoted);
    raise(at, f.take());
}

void fail_index(i64 index, i64 size, const site* at) {
    formatter f;
    put(f, "index ");
    f.put(index);
    put_range(f, size);
    raise(at, f.take());
}

void fail_cut(i64 low, i64 high, i64 size, const site* at) {
    formatter f;
    f.put(low);
    put(f, "..");
    f.put(high);
    put_range(f, size);
    raise(at, f.take());
}

void fail_size(i64 size, const site* at) {
    formatter f;
    put(f, "a vector cannot have ");
    f.put(size);
    put(f, " elements");
    raise(at, f.take());
}

void fail_sizes(i64 size, i64 other, const site* at) {
    formatter f;
    put(f, "the slices differ: ");
    f.put(size);
    put(f, " and ");
    f.put(other);
    put(f, " elements");
    raise(at, f.take());
}

void fail_overflow(const site* at) { fail(at, "integer overflow"); }
void fail_divide(const site* at) { fail(at, "division by zero"); }
void fail_power(const site* at) { fail(at, "a negative power of an integer"); }
void fail_convert(const site* at) {
    fail(at, "the number does not fit the type that it is converted to");
}
void fail_key(const site* at) { fail(at, "the map has no such key"); }
void fail_iterated(const site* at) { fail(at, "changed while it is iterated"); }

void fail_shift(i64 count, int bits, const site* at) {
    formatter f;
    put(f, "shift by ");
    f.put(count);
    put(f, ": the value has ");
    f.put(bits);
    put(f, " bits");
    raise(at, f.take());
}

void die(const char* text) noexcept {
    finish_outputs();
    char line[256] = "eve: ";
    std::strncat(line, text, sizeof line - 8);
    std::strcat(line, "\n");
    write_whole(STDERR_FILENO, line, i64(std::strlen(line)));
    _exit(1);
}

// The buffers of the outputs exist already, so this needs no memory.
void die_out_of_memory() noexcept { die("out of memory"); }

failure::failure(const site* at, error what) noexcept
    : what_(static_cast<error&&>(what)), at_(at == nullptr ? site{nullptr, 0} : *at) {}

string failure::message() const {
    formatter f;
    if (at_.file != nullptr) {
        put_site(f, at_);
        put(f, ": ");
    }
    f.put(what_);
    return f.take();
}

string failure::trace() const {
    formatter f;
    f.put(message());
    f.byte('\n');
    for (int i = 0; i < steps_ && i < longest; ++i) {
        put(f, "    in the task of ");
        put_site(f, started_[i]);
        f.byte('\n');
    }
    if (steps_ > longest) put(f, "    and others\n");
    return f.take();
}

error failure::as_error() const {
    option<error> cause = what_.cause();
    if (cause.has()) return error(what_.code(), message(), *cause);
    return error(what_.code(), message());
}

void failure::passed(const site* started) noexcept {
    if (started == nullptr) return;
    if (steps_ < longest) started_[steps_] = *started;
    ++steps_;
}

void pass_on(const site* started) {
    try {
        throw;
    } catch (failure& f) { // the failure under way, not a copy
        f.passed(started);
        throw;
    }
}

void report(const failure& f) noexcept {
    string text = f.trace();
    write_whole(STDERR_FILENO, text.data(), text.size());
}

void report_contained(const failure& f) noexcept {
    formatter text;
    text.put(f.trace());
    put(text, "    the program goes on\n");
    string all = text.take();
    write_whole(STDERR_FILENO, all.data(), all.size());
}

int failures_under_way() noexcept { return std::uncaught_exceptions(); }

} // namespace eve

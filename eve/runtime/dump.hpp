#pragma once
// A file of sections, written by system calls alone, so that a signal handler may write one. It
// gets its name when it is whole: until then it has the suffix `.part`.
//
//   dump d("EVEREC01", paths);
//   d.section("head", 8); d.put(now);
//   d.close("recording");
#include "base.hpp"

namespace eve {

struct body_code;

// The two names of the file. Made before, since a handler cannot join texts.
struct dump_names {
    char whole[4096];
    char part[4096 + 8];

    // False: the name is too long.
    bool set(const char* path) noexcept;
};

// One thread. Every method may be called in a signal handler.
class dump {
public:
    // `magic` has 8 characters.
    dump(const char* magic, const dump_names& names) noexcept;
    dump(const dump&) = delete;
    dump& operator=(const dump&) = delete;
    ~dump();

    // Begins a section of so many bytes. The tag has up to 8 characters.
    void section(const char* tag, u64 bytes) noexcept;
    void put(const void* data, usize bytes) noexcept;
    void put(u64 number) noexcept { put(&number, sizeof number); }
    // A text with its length before it, and what `put_text` adds to a section.
    void put_text(const char* text) noexcept;
    static u64 text_bytes(const char* text) noexcept;
    // Sections: the name of the program's file; a body_code with its address.
    void put_program() noexcept;
    void put_code(const body_code* code) noexcept;
    // Ends the file. False: it could not be written, which standard error says with this word for
    // it, and there is none.
    bool close(const char* what) noexcept;

private:
    void flush() noexcept;

    const dump_names& names_;
    int fd_;
    int error_ = 0;
    usize used_ = 0;
    unsigned char buffer_[4096];
};

} // namespace eve

#pragma once
// output: the value behind stdout and stderr. Writes gather in a buffer; stderr and terminals get
// every line at once, pipes and files when the buffer is full, when the process has nothing to do,
// and at its end.
//
// Who reads a pipe may be slow. A write gives the kernel what it takes at once; the rest is kept,
// another thread writes it on, and no task gets the output before it has (console.cpp). So nobody
// waits but who wants the output, and what is kept is what one task writes. A task that has written
// 1 MiB more than is read waits itself.
//
// Any thread, all methods: writers hold the object's permission, but flush_outputs comes from
// outside, so a lock stands in front of the buffer.
#include "buffer.hpp"
#include "format.hpp"

namespace eve {

class output {
public:
    enum class mode : u8 { found_out, direct, lines, blocks };

    // The mode is found out at the first write: lines for a terminal, else blocks.
    explicit output(int fd, mode how = mode::found_out) noexcept;
    output(const output&) = delete;
    output& operator=(const output&) = delete;
    // Before the first write: a box takes its value over so.
    output(output&& fresh) noexcept : output(fresh.fd_, fresh.mode_) {}
    ~output();

    void write(const string& s) noexcept { put(s.data(), s.size()); }
    void write(const formatter& f) noexcept { put(f.data(), f.size()); }
    void write_buffer(const bytes& data) noexcept;
    void put(const char* text, i64 size) noexcept;
    void flush() noexcept;
    // Writes what is kept until nothing is left, and waits for who reads.
    void write_on() noexcept;

private:
    friend void flush_outputs() noexcept;
    friend void finish_outputs() noexcept;
    enum class way : u8 { whole, at_once, asked };
    static constexpr i64 most_kept = 1 << 20; // bytes; as much as a socket's output. A guess
    static constexpr i64 room = 16 << 10;     // 16 KiB: four writes of a page cost as much as one

    void lock() noexcept;
    void unlock() noexcept;
    void send_buffer() noexcept;
    void send(const char* text, i64 size) noexcept;
    i64 give(const char* text, i64 size) noexcept;
    void give_kept() noexcept;
    void wait_until(i64 kept) noexcept;
    void settle() noexcept;
    bool finish(const char* text, i64 size) noexcept;
    void finish() noexcept;
    void find_mode() noexcept;

    int fd_;
    mode mode_;
    way way_ = way::at_once;
    bool locked_ = false;
    bool helped_ = false; // somebody is about to write on what is kept
    i64 size_ = 0;
    char* buffer_ = nullptr;
    byte_queue
        kept_; // what the kernel did not take; while there is any, later writes go here at once
    output* next_ = nullptr; // of all outputs
};

// Any thread. Called when a worker runs out of work; waits for nobody.
void flush_outputs() noexcept;
// Any thread, at the end of the process, also from the handler of a fault. Writes all that there is
// and waits for who reads, unless hurry_outputs was called.
void finish_outputs() noexcept;
// Any thread. From here on the end of the process waits for no reader.
void hurry_outputs() noexcept;

// Lets another thread call write_on, and no task have the output until that is over. False: it
// cannot be done here.
extern bool (*write_later)(output& o) noexcept;

// Writes all of it, however often the kernel interrupts or takes a part. 0, or the errno.
int write_whole(int fd, const char* text, i64 size) noexcept;

} // namespace eve

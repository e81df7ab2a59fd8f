#pragma once
// output: the value behind stdout and stderr. Writes gather in a buffer; stderr and terminals get every
// line at once, pipes and files when the buffer is full, when the process has nothing to do, and at its end.
//
// Any thread, all methods: writers hold the object's permission, but flush_outputs comes from outside, so a
// lock stands in front of the buffer.
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

private:
    friend void flush_outputs() noexcept;
    static constexpr i64 room = 16 << 10; // 16 KiB: four writes of a page cost as much as one

    void lock() noexcept;
    void unlock() noexcept;
    void send_buffer() noexcept;
    void send(const char* text, i64 size) noexcept;
    void find_mode() noexcept;

    int fd_;
    mode mode_;
    bool locked_ = false;
    i64 size_ = 0;
    char* buffer_ = nullptr;
    output* next_ = nullptr; // of all outputs
};

// Any thread. Called when a worker runs out of work and at the end of the process; skips what is being written.
void flush_outputs() noexcept;

// Writes all of it, however often the kernel interrupts or takes a part. 0, or the errno.
int write_whole(int fd, const char* text, i64 size) noexcept;

} // namespace eve

#pragma once
// output: the value of stdout and stderr. Writes gather in a buffer. stderr and terminals are
// written line by line; pipes and files when the buffer is full, when the process has nothing to
// do, and at its end.
//
// The reader of a pipe may be slow. A write gives the kernel what it takes without blocking. The
// remaining bytes are kept, another thread writes them, and no task gets the output before that is
// done (console.cpp). So only tasks that want the output wait, and the kept bytes are those of one
// task. A task that is more than 1 MiB ahead of the reader blocks.
//
// Any thread, all methods: writers hold the object's permission, but flush_outputs has none, so a
// lock guards the buffer.
#include "buffer.hpp"
#include "format.hpp"

namespace eve {

class output {
public:
    enum class mode : u8 { found_out, direct, lines, blocks };

    // The mode is determined at the first write: lines for a terminal, else blocks.
    explicit output(int fd, mode how = mode::found_out) noexcept;
    output(const output&) = delete;
    output& operator=(const output&) = delete;
    // Only before the first write: a box moves its value in.
    output(output&& fresh) noexcept : output(fresh.fd_, fresh.mode_) {}
    ~output();

    void write(const string& s) noexcept { put(s.data(), s.size()); }
    void write(const formatter& f) noexcept { put(f.data(), f.size()); }
    void write_buffer(const bytes& data) noexcept;
    void put(const char* text, i64 size) noexcept;
    void flush() noexcept;
    // Writes the kept bytes until none is left. Blocks while the reader is slow.
    void write_on() noexcept;

private:
    friend void flush_outputs() noexcept;
    friend void finish_outputs() noexcept;
    enum class way : u8 { whole, at_once, asked };
    static constexpr i64 most_kept = 1 << 20; // bytes, as for the output of a socket; a guess
    static constexpr i64 room = 16 << 10;     // 16 KiB: four writes of a page cost as much as one

    void lock() noexcept;
    void unlock() noexcept;
    void send_buffer() noexcept;
    void send(const char* text, i64 size) noexcept;
    i64 give(const char* text, i64 size) noexcept;
    void give_kept() noexcept;
    void wait_until(i64 kept) noexcept;
    void arrange_rest() noexcept;
    bool finish(const char* text, i64 size) noexcept;
    void finish() noexcept;
    void find_mode() noexcept;

    int fd_;
    mode mode_;
    way way_ = way::at_once;
    bool locked_ = false;
    bool writer_assigned_ = false; // a thread is about to write the kept bytes
    i64 size_ = 0;
    char* buffer_ = nullptr;
    // Bytes that the kernel did not take. While there are any, later writes go here at once.
    byte_queue kept_;
    output* next_ = nullptr; // in the list of all outputs
};

// Any thread. Called when a worker runs out of work. It never blocks.
void flush_outputs() noexcept;
// Any thread, at the end of the process, also from the handler of a fault. Writes everything and
// waits for the readers, unless hurry_outputs was called.
void finish_outputs() noexcept;
// Any thread. From here on the end of the process waits for no reader.
void hurry_outputs() noexcept;

// Makes another thread call write_on, and lets no task have the output before that is done. False:
// not possible here.
extern bool (*write_later)(output& o) noexcept;

// Writes all bytes, however often the kernel interrupts or takes a part. Returns 0 or the errno.
int write_whole(int fd, const char* text, i64 size) noexcept;

} // namespace eve

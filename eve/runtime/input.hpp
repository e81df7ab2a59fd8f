#pragma once
// input: standard input, read by lines. It is read while it has handlers, and keeps the process
// alive meanwhile. A pool thread reads descriptors that epoll refuses (files).
#include "buffer.hpp"
#include "emitter.hpp"
#include "loop.hpp"
#include "pool.hpp"
#include "socket.hpp"

namespace eve {

class input final : public emitter_base, public stoppable, blocking_call {
public:
    explicit input(int from) noexcept;
    input(input&& fresh) noexcept;
    ~input();

    // Under full permission.
    void close_input() noexcept;

    u8 wanted() const noexcept override;
    void ready(loop& on, u8 events) override;
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;
    header* shared() noexcept override { return header_of(*this); }

private:
    static const emitter_hooks hooks;
    static void on_changed(emitter_base& e);
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);
    static void on_gone(emitter_base& e);
    void block() noexcept override;
    void pump(bool at_loop) noexcept;
    bool take_line(string& text) noexcept;
    void read_on() noexcept;
    void end_input() noexcept;

    byte_queue in_;
    i64 scanned_ = 0;     // number of bytes of in_ that were searched for an end of line
    u8* block_ = nullptr; // buffer of the pool thread; null: the loop reads
    i64 block_size_ = 0;
    bool handled_ = false; // there are handlers, so it is armed
    bool begun_ = false;
    bool reading_ = false; // a pool thread reads
    bool busy_ = false;    // a line is being handled
    bool pumping_ = false; // the loop emits the lines that it has read
    bool ended_ = false;
    bool closed_ = false; // the event close was posted
};

extern ref<input> the_stdin;

} // namespace eve

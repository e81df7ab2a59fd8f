#include "input.hpp"

#include "failure.hpp"
#include "worker.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr i64 longest_line = 1 << 20; // in bytes; input has no event for a longer line

bool watchable(int fd) noexcept {
    struct stat about;
    if (fstat(fd, &about) != 0) return false;
    return S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(fd);
}

} // namespace

const emitter_hooks input::hooks = {on_changed, on_unhandled, on_ended, on_failed, on_gone};

ref<input> the_stdin = make<input>(input(0));

input::input(int from) noexcept : emitter_base(&hooks), stoppable(kind::other) { fd = from; }

input::input(input&& fresh) noexcept : input(fresh.fd) {}

input::~input() { free(block_); }

u8 input::wanted() const noexcept {
    return begun_ && handled_ && block_ == nullptr && !busy_ && !ended_ ? io_in : 0;
}

// Arms and disarms as handlers are registered and dropped.
void input::on_changed(emitter_base& e) {
    auto& s = static_cast<input&>(e);
    bool handled = s.handles(key_of<line>()) || s.handles(key_of<eve::close>());
    header* self = header_of(s);
    bool begin = false;
    {
        locked l(s.guard);
        if (s.closed_ || handled == s.handled_) return;
        s.handled_ = handled;
        begin = handled && s.home == nullptr;
        if (begin) s.home = &this_loop();
        else if (s.begun_ && (handled || s.block_ == nullptr)) s.home->update(s);
    }
    if (handled) {
        self->keep();
        arm();
        s.enter();
        if (begin) {
            self->keep();
            this_loop().start_later(s);
        } else {
            s.pump(false);
        }
    } else {
        s.leave();
        disarm();
        self->drop();
    }
}

void input::start(loop&) {
    {
        locked l(guard);
        begun_ = true;
        if (!watchable(fd)) {
            block_ = static_cast<u8*>(malloc(loop::scratch_bytes));
            if (block_ == nullptr) die_out_of_memory();
        }
    }
    pump(true);
    header_of(*this)->drop();
}

void input::ready(loop&, u8) {
    {
        locked l(guard);
        if (!(wanted() & io_in)) {
            home->update(*this);
            return;
        }
    }
    u8* buffer = this_loop().scratch();
    i64 n = ::read(fd, buffer, loop::scratch_bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    {
        locked l(guard);
        if (n > 0) in_.append(buffer, n);
        else ended_ = true;
        if (ended_) home->update(*this);
    }
    pump(true);
}

void input::block() noexcept {
    do block_size_ = ::read(fd, block_, loop::scratch_bytes);
    while (block_size_ < 0 && errno == EINTR);
    home->mail(*this, mail_done);
}

void input::mailed(loop&, u32) {
    {
        locked l(guard);
        reading_ = false;
        if (block_size_ > 0) in_.append(block_, block_size_);
        else ended_ = true;
    }
    pump(true);
    disarm();
    header_of(*this)->drop();
}

// Starts the next read. Under the guard.
void input::read_on() noexcept {
    if (!handled_ || !begun_ || ended_ || reading_ || closed_) return;
    if (block_ == nullptr) {
        if ((wanted() & ~have) != 0) home->update(*this);
        return;
    }
    reading_ = true;
    header_of(*this)->keep();
    arm();
    run_blocking(*this);
}

// Cuts off the next line; at the end of the input, the remaining text. Under the guard.
bool input::take_line(string& text) noexcept {
    i64 size = in_.size();
    if (size == 0) return false;
    const u8* from = in_.data();
    auto* end =
        static_cast<const u8*>(memchr(from + scanned_, '\n', static_cast<usize>(size - scanned_)));
    if (end == nullptr && !ended_) {
        if (size > longest_line) die("standard input has a line of more than 1 MiB");
        scanned_ = size;
        return false;
    }
    i64 length = end != nullptr ? end - from : size;
    i64 shown = length > 0 && end != nullptr && from[length - 1] == '\r' ? length - 1 : length;
    text = string(reinterpret_cast<const char*>(from), shown);
    in_.consume(end != nullptr ? length + 1 : length);
    scanned_ = 0;
    return true;
}

// Emits one line at a time. On the loop it runs the handlers at once. Elsewhere it posts the
// event, and comes back here when that has ended.
void input::pump(bool at_loop) noexcept {
    header* self = header_of(*this);
    for (;;) {
        line text;
        bool whole = false;
        bool last = false;
        {
            locked l(guard);
            if (!at_loop && pumping_) return;
            if (!busy_ && !closed_ && handled_) {
                whole = take_line(text.text);
                last = !whole && ended_;
            }
            busy_ = busy_ || whole;
            pumping_ = at_loop && whole;
            if (!busy_) read_on();
        }
        if (last) end_input();
        if (!whole) return;
        if (!at_loop) {
            post(self, create<emission_of<line>>(move(text)));
            return;
        }
        fire(self, key_of<line>(), &text, emission_of<line>::keep);
    }
}

void input::end_input() noexcept {
    {
        locked l(guard);
        if (closed_) return;
        closed_ = ended_ = true;
        in_.clear();
    }
    post_last(header_of(*this), create<emission_of<eve::close>>(eve::close{}));
}

void input::close_input() noexcept { end_input(); }

void input::shut() noexcept { end_input(); }

bool input::on_unhandled(emitter_base& e, event_key key, void* event) {
    on_ended(e, key, event);
    return true;
}

void input::on_ended(emitter_base& e, event_key key, void*) {
    if (key != key_of<line>()) return;
    auto& s = static_cast<input&>(e);
    {
        locked l(s.guard);
        s.busy_ = false;
    }
    s.pump(false);
}

bool input::on_failed(emitter_base& e, const failure&) {
    static_cast<input&>(e).end_input();
    return false;
}

void input::on_gone(emitter_base& e) {
    auto& s = static_cast<input&>(e);
    {
        locked l(s.guard);
        if (!s.handled_) return;
        s.handled_ = false;
        if (s.home != nullptr && s.begun_ && s.block_ == nullptr) s.home->update(s);
    }
    s.leave();
    disarm();
    header_of(s)->drop();
}

} // namespace eve

// What a socket sends: gathered under its guard, given to the kernel at the end of a batch, by
// itself or together with what others send.
#include "socket.hpp"

#include "format.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace eve {

namespace {

constexpr i64 send_at_once = 1 << 16; // so much output does not wait for the end of the batch
constexpr i64 late_from = 1 << 16;    // with so much output waiting nothing more is read; a guess
constexpr unsigned patience_ms =
    30'000; // a guess: how long a closing socket waits for a peer that takes nothing

} // namespace

// With more output than this nothing is read, so that a peer that does not read cannot
// fill our memory.
i64 socket::late_mark() const noexcept { return late_from < limit_ / 2 ? late_from : limit_ / 2; }

// Whether overflow is to be posted now, once, and not while either is being posted: what is posted
// last is true. Under the guard.
bool socket::take_overflow() noexcept {
    if (over_ || telling_ || out_.size() <= limit_) return false;
    over_ = telling_ = true;
    return true;
}

// Whether drained is to be posted now: once for each overflow, and behind it. Under the guard.
bool socket::take_drained() noexcept {
    if (!over_ || telling_ || !(out_.empty() || out_.size() < limit_ / 2)) return false;
    over_ = false;
    telling_ = true;
    return true;
}

// Gives the kernel what it takes. Under the guard.
void socket::push(effects& then) noexcept {
    if (lent_) return; // sent() comes back here
    while (!out_.empty() && !blocked_ && !broken_ && fd >= 0) {
        i64 n =
            ::send(fd, out_.data(), static_cast<usize>(out_.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            out_.consume(n);
        } else if (errno == EAGAIN) {
            blocked_ = true;
        } else if (errno != EINTR) {
            broken_ = true;
            then.broken = errno;
        }
    }
    if (broken_) out_.clear();
    if (late_ && out_.size() <= late_mark() / 2) {
        late_ = false;
        then.resumed = true;
    }
    then.drained = take_drained();
    if (blocked_ && closing_ && patient_) {
        patient_ = false;
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
    }
    if (no_more_ && !said_so_ && out_.empty() && !broken_ && fd >= 0) {
        said_so_ = true;
        ::shutdown(fd, SHUT_WR);
    }
    then.sent = out_.empty();
    if (started_ && (wanted() & ~have) != 0) home->update(*this);
}

void socket::settle(const effects& then) noexcept {
    header* self = header_of(*this);
    if (then.broken != 0) {
        abort(error_of(then.broken), true);
        return;
    }
    for (bool overflow = then.overflow, drained = then.drained; overflow || drained;) {
        if (drained) post(self, create<emission_of<eve::drained>>(eve::drained{}));
        else if (handles(key_of<eve::overflow>()))
            post(self, create<emission_of<eve::overflow>>(eve::overflow{}));
        else abort(error(), false);
        locked l(guard); // others may have read or written meanwhile
        telling_ = false;
        overflow = take_overflow();
        drained = take_drained();
    }
    if (then.resumed) pump(false);
    if (then.sent) close_when_sent();
}

void socket::append(const void* from, i64 size) noexcept {
    if (size == 0) return;
    effects then;
    bool later = false;
    {
        locked l(guard);
        if (closing_ || broken_ || no_more_ || fd < 0) return;
        out_.append(from, size);
        if (out_.size() >= send_at_once && !blocked_) push(then);
        then.sent = false; // nobody has asked for its close
        late_ = late_ || out_.size() > late_mark();
        then.overflow = take_overflow();
        if (!out_.empty() && !blocked_ && !unflushed_) unflushed_ = later = true;
    }
    if (later) {
        header_of(*this)->keep();
        this_loop().flush_later(*this);
    }
    settle(then);
}

void socket::write(const formatter& text) noexcept { append(text.data(), text.size()); }

void socket::flush() noexcept {
    effects then;
    {
        locked l(guard);
        unflushed_ = false;
        push(then);
    }
    settle(then);
}

bool socket::lend_output(byte_queue& to) noexcept {
    locked l(guard);
    if (out_.empty() || blocked_ || broken_ || lent_ || fd < 0) return false;
    unflushed_ = false;
    lent_ = true;
    to.swap(out_);
    return true;
}

void socket::sent(byte_queue& what, i64 size) noexcept {
    effects then;
    {
        locked l(guard);
        lent_ = false;
        if (size > 0) what.consume(size);
        else if (size == -EAGAIN) blocked_ = true;
        else if (size != -EINTR && !broken_) {
            broken_ = true;
            then.broken = static_cast<int>(-size);
        }
        if (!what.empty() && !broken_) { // what was written meanwhile comes behind it
            what.append(out_.data(), out_.size());
            out_.swap(what);
        }
        push(then);
    }
    settle(then);
}

void socket::limit(i64 size) noexcept {
    locked l(guard);
    limit_ = size > 0 ? size : 0;
}

} // namespace eve

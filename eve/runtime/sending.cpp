// The output of a socket. It is gathered under the guard and given to the kernel at the end of a
// batch, alone or together with that of other sockets.
#include "socket.hpp"

#include "format.hpp"
#include "secured.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace eve {

namespace {

constexpr i64 send_at_once = 1 << 16;    // bytes; this much does not wait for the end of the batch
constexpr i64 high_water_most = 1 << 16; // bytes; a guess
constexpr u32 most_limit = ~0u >> 1;     // bytes
constexpr unsigned peer_timeout_ms =
    30'000; // a guess: how long a closing socket waits for a peer that reads nothing

} // namespace

// The high-water mark. With more pending output than this nothing is read, so a peer that does not
// read cannot fill our memory.
i64 socket::high_water_mark() const noexcept {
    return high_water_most < limit_ / 2 ? high_water_most : limit_ / 2;
}

// Under the guard.
void socket::note_high_water() noexcept {
    if (duplex_ == 0 && unsent() > high_water_mark()) above_high_water_ = true;
}

// Sending has failed. Returns the errno to abort the socket for; 0: what the peer has sent before
// is read first, and reading ends it. Under the guard.
int socket::break_output(int code) noexcept {
    broken_ = true;
    bool reads = duplex_ != 0 && secure_ == nullptr && !ended_ && !closing_;
    return reads ? 0 : code;
}

// Whether to post overflow now. It is posted once, and not while overflow or drained is being
// posted: the last event then says the truth. Under the guard.
bool socket::take_overflow() noexcept {
    if (over_ || posting_ || unsent() <= limit_) return false;
    over_ = posting_ = true;
    return true;
}

// Whether to post drained now: once for each overflow, after it. Under the guard.
bool socket::take_drained() noexcept {
    if (!over_ || posting_ || !(unsent() == 0 || unsent() < limit_ / 2)) return false;
    over_ = false;
    posting_ = true;
    return true;
}

// A peer that takes nothing has a time limit from the close on. Under the guard.
void socket::hurry_peer() noexcept {
    if (!blocked_ || !closing_ || !patient_ || fd < 0) return;
    patient_ = false;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &peer_timeout_ms, sizeof peer_timeout_ms);
}

// Gives the kernel the bytes that it takes. Under the guard.
void socket::push(effects& then) noexcept {
    if (sending_) return; // sent() calls this again
    while (!blocked_ && !broken_ && fd >= 0) {
        byte_queue& wire = secure_ == nullptr ? out_ : seal();
        if (wire.empty()) break;
        i64 n =
            ::send(fd, wire.data(), static_cast<usize>(wire.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            wire.consume(n);
        } else if (errno == EAGAIN) {
            blocked_ = true;
        } else if (errno != EINTR) {
            then.broken = break_output(errno);
        }
    }
    if (broken_) drop_output();
    if (above_high_water_ && unsent() <= high_water_mark() / 2) {
        above_high_water_ = false;
        then.resumed = true;
    }
    then.drained = take_drained();
    hurry_peer();
    bool all_sealed = secure_ == nullptr || secure_->finished;
    if (shutdown_wanted_ && !shutdown_done_ && unsent() == 0 && all_sealed && !broken_ && fd >= 0) {
        shutdown_done_ = true;
        ::shutdown(fd, SHUT_WR);
    }
    then.sent = unsent() == 0;
    if (started_ && (wanted() & ~have) != 0) home->update(*this);
}

void socket::apply(const effects& then) noexcept {
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
        locked l(guard); // other threads may have read or written meanwhile
        posting_ = false;
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
        if (closing_ || broken_ || shutdown_wanted_ || fd < 0) return;
        out_.append(from, size);
        if (out_.size() >= send_at_once && !blocked_) push(then);
        then.sent = false; // close was not called
        note_high_water();
        then.overflow = take_overflow();
        if (unsent() > 0 && !blocked_ && !unflushed_) unflushed_ = later = true;
    }
    if (later) {
        header_of(*this)->keep();
        this_loop().flush_later(*this);
    }
    apply(then);
}

void socket::write(const formatter& text) noexcept { append(text.data(), text.size()); }

void socket::flush() noexcept {
    effects then;
    {
        locked l(guard);
        unflushed_ = false;
        push(then);
    }
    apply(then);
}

bool socket::take_output(byte_queue& to) noexcept {
    locked l(guard);
    if (blocked_ || broken_ || sending_ || fd < 0) return false;
    byte_queue& wire = secure_ == nullptr ? out_ : seal();
    if (wire.empty()) return false;
    unflushed_ = false;
    sending_ = true;
    to.swap(wire);
    return true;
}

void socket::sent(byte_queue& what, i64 size) noexcept {
    effects then;
    {
        locked l(guard);
        sending_ = false;
        if (size > 0) what.consume(size);
        else if (size == -EAGAIN) blocked_ = true;
        else if (size != -EINTR && !broken_) then.broken = break_output(static_cast<int>(-size));
        if (!what.empty() && !broken_) { // bytes that were written meanwhile follow
            byte_queue& wire = secure_ == nullptr ? out_ : secure_->wire;
            what.append(wire.data(), wire.size());
            wire.swap(what);
        }
        push(then);
    }
    apply(then);
}

void socket::limit(i64 size) noexcept {
    locked l(guard);
    i64 bytes = size < 0 ? 0 : size < most_limit ? size : most_limit;
    limit_ = static_cast<u32>(bytes) & most_limit;
}

} // namespace eve

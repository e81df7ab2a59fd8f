#include "socket.hpp"

#include "address.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "secured.hpp"

#include <errno.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sockios.h>

namespace eve {

namespace {

constexpr u32 first_limit = 1 << 20; // bytes of output; std/io/socket.eve documents it
constexpr i64 most_unread = 1 << 16; // bytes of input that no handler takes
constexpr i64 longest_line = 1 << 16;
constexpr int unread_turns = 16; // reads by which a closing socket discards input at once
constexpr i64 linger_ns =
    1'000'000'000; // a guess: how long a peer that still sends has to see our FIN
// How much it may send meanwhile, in bytes: what is under way to us on a path of 1 Gbit/s with a
// round trip of 128 ms.
constexpr i64 most_dropped = 16 << 20;
constexpr int silence_s = 60;            // a guess: idle time before the first keepalive probe
constexpr int keepalive_interval_s = 15; // between keepalive probes; a guess
constexpr int keepalive_probes = 4;      // unanswered, before the peer counts as gone; a guess

} // namespace

error error_of(int code) {
    return error(code, string(strerror(code), static_cast<i64>(strlen(strerror(code)))));
}

static_assert(sizeof(box<socket>) <= 240, "io.md says what a connection costs");

const emitter_hooks socket::hooks = {on_changed, on_unhandled, on_ended,
                                     on_failed,  on_gone,      is_void};

void watch_peer(int fd) noexcept {
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence_s, sizeof silence_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &keepalive_interval_s, sizeof keepalive_interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &keepalive_probes, sizeof keepalive_probes);
}

socket::socket(int connected, loop& at, ref<tcp_socket> from) noexcept
    : emitter_base(&hooks), stoppable(kind::stream), from_(move(from)), limit_(first_limit) {
    fd = connected;
    home = &at;
}

socket::socket(socket&& fresh) noexcept
    : emitter_base(&hooks), stoppable(kind::stream), timer_node(), from_(move(fresh.from_)),
      limit_(fresh.limit_) {
    fd = fresh.fd;
    home = fresh.home;
    fresh.fd = -1;
}

socket::~socket() {
    if (fd >= 0) ::close(fd);
    if (secure_ != nullptr) destroy(secure_);
}

void socket::adopt() noexcept {
    {
        locked l(guard);
        if (adopted_) return; // a continuation has passed it on by its own answer
        adopted_ = true;
    }
    header* self = header_of(*this);
    self->keep();
    arm();
    home->add_client();
    enter();
    self->keep();
    this_loop().start_later(*this);
}

void socket::start(loop&) {
    header* self = header_of(*this);
    bool unreachable, shakes, shaken, winds;
    {
        locked l(guard);
        started_ = true;
        shakes = shaking();
        shaken = secure_ != nullptr && !shakes;
        // Two counts belong to the loop. With no other count, no code can reach the socket any
        // more.
        unreachable =
            !has_data_ && !has_line_ && interval_ == 0 && self->count_.load(order::acquire) == 2;
        winds = wound_;
        if (wanted() != 0) home->update(*this);
    }
    if (shakes) home->mail(*this, mail_start);
    if (winds) home->mail(*this, mail_clock);
    if (unreachable) close();
    else if (ending()) shut();
    else if (shaken && unseal(nullptr, 0, false)) pump(false);
    self->drop();
}

u8 socket::wanted() const noexcept {
    if (lingering_) return io_in;
    if (!started_ || fd < 0) return 0;
    u8 want = blocked_ ? io_out : 0;
    if (shaking() && !broken_ && !closed_) return want | io_in;
    if (ended_ || closing_ || paused_) return want;
    if (!has_data_ && !has_line_) return want | io_end;
    bool full = !has_line_ && in_.size() >= most_unread;
    return busy_ || above_high_water_ || full ? want : want | io_in;
}

i64 socket::pending() const noexcept {
    auto* me = const_cast<socket*>(this);
    locked l(me->guard);
    if (broken_ && !closing_) return i64(limit_) + 1; // nothing is sent any more
    return unsent();
}

string socket::address() const {
    auto* me = const_cast<socket*>(this);
    locked l(me->guard);
    return fd < 0 ? string() : peer_text(fd);
}

string socket::protocol() const {
    string found;
    with_layer([&](layer& l) { found = l.protocol(); });
    return found;
}

bytes socket::read_buffer() {
    bytes taken;
    locked l(guard);
    i64 old = in_.size() < most_unread ? in_.size() : most_unread;
    i64 fresh =
        old == in_.size() ? (fresh_size_ < most_unread - old ? fresh_size_ : most_unread - old) : 0;
    if (old + fresh == 0) return taken;
    u8* to = taken.room(old + fresh);
    if (old > 0) {
        memcpy(to, in_.data(), static_cast<usize>(old));
        in_.consume(old);
        scanned_ = 0;
    }
    if (fresh > 0) {
        memcpy(to + old, fresh_, static_cast<usize>(fresh));
        fresh_ += fresh;
        fresh_size_ -= static_cast<i32>(fresh);
    }
    taken.grown(old + fresh);
    announced_ = in_.empty() && fresh_size_ == 0; // the remaining bytes need another event
    if (started_ && (wanted() & ~have) != 0) home->update(*this);
    return taken;
}

void socket::close() noexcept {
    effects then;
    {
        locked l(guard);
        begin_to_close();
        if (secure_ != nullptr) push(then); // its end, too
        hurry_peer();
    }
    if (then.broken != 0) apply(then);
    close_when_sent();
}

void socket::close_write() noexcept {
    effects then;
    {
        locked l(guard);
        shutdown_wanted_ = true;
        if (unsent() == 0) push(then);
    }
    apply(then);
}

// What has been read waits, and so does the end that was read behind it.
void socket::pause() noexcept {
    locked l(guard);
    paused_ = true;
}

void socket::resume() noexcept {
    bool pending;
    {
        locked l(guard);
        paused_ = false;
        if (started_ && (wanted() & ~have) != 0) home->update(*this);
        pending = started_ && !busy_;
    }
    if (pending) pump(false);
}

void socket::full_duplex() noexcept {
    bool held;
    {
        locked l(guard);
        duplex_ = 1;
        held = above_high_water_;
        above_high_water_ = false;
        if (started_ && (wanted() & ~have) != 0) home->update(*this);
    }
    if (held) pump(false);
}

void socket::close_when_sent() noexcept {
    {
        locked l(guard);
        if (!closing_ || closed_ || sending_ || !(unsent() == 0 || broken_)) return;
        closed_ = true;
    }
    post_last(header_of(*this), create<emission_of<eve::close>>(eve::close{}));
}

// The connection has failed. Pending output is dropped.
void socket::abort(const error& why, bool tell) noexcept {
    {
        locked l(guard);
        tell = tell && !closing_ && !closed_;
        ended_ = closing_ = broken_ = true;
        drop_output();
        in_.clear();
    }
    header* self = header_of(*this);
    if (tell) post(self, create<emission_of<error>>(error(why)));
    close_when_sent();
}

void socket::ready(loop&, u8 events) {
    if (events & io_out) {
        effects then;
        {
            locked l(guard);
            if (!blocked_) return;
            blocked_ = false;
            push(then);
        }
        apply(then);
    } else if (events & (io_end | io_hangup)) {
        {
            locked l(guard);
            if (!started_ || ended_ || closing_ || paused_ || has_data_ || has_line_ || shaking())
                return;
            ended_ = true; // nothing is read, so only this shows that the peer has gone
        }
        pump(true);
    }
}

void socket::arrived(loop& on, const u8* what, i64 size) {
    bool lingers, pumping, enough = size <= 0;
    {
        locked l(guard);
        lingers = lingering_;
        pumping = pumping_;
        if (closing_ && size > 0) enough = (number_ += size) > most_dropped;
        if (!lingers && secure_ != nullptr) {
            if (broken_ || closed_ || ((closing_ || ended_) && !shaking())) return;
        } else if (!lingers) {
            if (closing_ || ended_) return;
            if (size < 0 && duplex_ != 0 && (busy_ || !in_.empty())) { // that is handled first
                broken_ = true;
                drop_output();
                size = 0;
            }
            if (size == 0) ended_ = saw_end_ = true;
            else if (size > 0) add_fresh(what, size);
        }
    }
    if (lingers) {
        if (enough) retire(on);
    } else if (size < 0 && !shaking()) {
        abort(error_of(static_cast<int>(-size)), true);
    } else if (secure_ != nullptr) {
        if (receive(on, what, size, size <= 0) && !pumping) pump(true);
    } else if (!pumping) {
        pump(true);
    }
}

// While another worker is in a handler of this socket, that worker emits the input behind it, and
// what it has read itself comes first. Under the guard.
void socket::add_fresh(const u8* what, i64 size) noexcept {
    announced_ = false;
    if (!pumping_) {
        fresh_ = what;
        fresh_size_ = static_cast<i32>(size);
        return;
    }
    in_.append(fresh_, fresh_size_);
    in_.append(what, size);
    fresh_size_ = 0;
}

// Cuts off the next line; at the end of the input, the remaining text. Under the guard.
bool socket::take_line(string& text) noexcept {
    if (!in_.empty() && fresh_size_ > 0) {
        in_.append(fresh_, fresh_size_);
        fresh_size_ = 0;
    }
    bool kept = !in_.empty();
    const u8* from = kept ? in_.data() : fresh_;
    i64 size = kept ? in_.size() : fresh_size_;
    if (size == 0) return false;
    i64 skip = kept ? scanned_ : 0;
    auto* end = static_cast<const u8*>(memchr(from + skip, '\n', static_cast<usize>(size - skip)));
    i64 length = end != nullptr ? end - from : size;
    if (end == nullptr && !(ended_ && size <= longest_line)) {
        scanned_ = static_cast<i32>(size);
        return false;
    }
    i64 shown = length > 0 && end != nullptr && from[length - 1] == '\r' ? length - 1 : length;
    text = string(reinterpret_cast<const char*>(from), shown);
    i64 used = end != nullptr ? length + 1 : length;
    if (kept) {
        in_.consume(used);
        scanned_ = 0;
    } else {
        fresh_ += used;
        fresh_size_ -= static_cast<i32>(used);
    }
    return true;
}

// Emits the input, one event at a time. On the loop it runs the handlers at once. Elsewhere it
// posts the next event, and comes back here when that has ended.
void socket::pump(bool at_loop) noexcept {
    header* self = header_of(*this);
    for (;;) {
        line text;
        bool whole = false;
        bool some = false;
        bool too_long = false;
        bool last = false;
        {
            locked l(guard);
            if (!at_loop && pumping_) return;
            bool held = paused_ || (above_high_water_ && (fresh_size_ > 0 || !in_.empty()));
            if (!busy_ && !closing_ && !held) {
                whole = has_line_ && take_line(text.text);
                some = !has_line_ && has_data_ && !announced_ && (fresh_size_ > 0 || !in_.empty());
            }
            busy_ = busy_ || whole || some;
            announced_ = announced_ || some;
            pumping_ = at_loop && (whole || some);
            if (!pumping_ && fresh_size_ > 0) {
                in_.append(fresh_, fresh_size_);
                fresh_size_ = 0;
            }
            too_long = has_line_ && !busy_ && !held && in_.size() > longest_line;
            last = ended_ && !busy_ && !held && !drained_in_ && !closing_;
            drained_in_ = drained_in_ || last;
            if (!busy_ && started_ && (wanted() & ~have) != 0) home->update(*this);
        }
        if (!whole && !some) {
            if (too_long) abort(error(EMSGSIZE, string::literal("line too long")), true);
            else if (last) after_last_input(at_loop);
            return;
        }
        if (at_loop) {
            eve::data arrival;
            if (whole) fire(self, key_of<line>(), &text, emission_of<line>::keep);
            else fire(self, key_of<eve::data>(), &arrival, emission_of<eve::data>::keep);
            continue;
        }
        if (whole) post(self, create<emission_of<line>>(move(text)));
        else post(self, create<emission_of<eve::data>>(eve::data{}));
        return;
    }
}

// The peer will send no more, and its last input was handled. This root queues behind the tasks
// that the handlers spawned on the socket, so their replies are written before it runs.
void socket::after_last_input(bool at_loop) noexcept {
    ref<socket> me = ref_of(*this);
    auto body = [me](worker*, frame*) { me->input_over(); };
    if (!at_loop || !run_now(body, false, eve::write(me))) spawn(move(body), eve::write(me));
}

void socket::input_over() noexcept {
    error why;
    bool cut;
    {
        locked l(guard);
        cut = secure_ != nullptr && secure_->cut;
        if (cut) why = secure_->what->cut_off(false);
    }
    if (cut) abort(why, true);
    else if (handles(key_of<eve::ended>()))
        post(header_of(*this), create<emission_of<eve::ended>>(eve::ended{}));
    else close();
}

void socket::on_changed(emitter_base& e) {
    auto& s = static_cast<socket&>(e);
    bool wants_data = s.handles(key_of<eve::data>());
    bool wants_line = s.handles(key_of<line>());
    bool waiting;
    {
        locked l(s.guard);
        s.has_data_ = wants_data;
        s.has_line_ = wants_line;
        if (s.started_ && (s.wanted() & ~s.have) != 0) s.home->update(s);
        waiting = s.started_ && !s.busy_ && !s.in_.empty();
    }
    if (waiting) s.pump(false);
}

bool socket::on_unhandled(emitter_base& e, event_key key, void* event) {
    on_ended(e, key, event);
    return true;
}

void socket::on_ended(emitter_base& e, event_key key, void*) {
    auto& s = static_cast<socket&>(e);
    if (key == key_of<fired>()) s.ticked();
    if (key != key_of<eve::data>() && key != key_of<line>()) return;
    {
        locked l(s.guard);
        s.busy_ = false;
    }
    s.pump(false);
}

bool socket::on_failed(emitter_base& e, const failure& f) {
    auto& s = static_cast<socket&>(e);
    bool heard = s.handles(key_of<error>());
    heard = s.post(header_of(s), create<emission_of<error>>(f.as_error())) && heard;
    s.close();
    return heard;
}

void socket::on_gone(emitter_base& e) {
    auto& s = static_cast<socket&>(e);
    s.home->mail(s, mail_retire);
}

void socket::mailed(loop& on, u32 what) {
    if (fd < 0) { // retired before
        header_of(*this)->drop();
        return;
    }
    if ((what & mail_start) && shaking()) on.set(*secure_, monotonic_ns() + secure_->patience_ns);
    if (what & mail_clock) wind(on);
    if (!(what & mail_retire)) return;
    bool finished, again;
    {
        locked l(guard);
        finished = saw_end_ || broken_;
        again = lingering_;
    }
    if (again || releasing) { // the ring has released the descriptor
        retire(on);
        return;
    }
    if (finished || !must_linger()) {
        retire(on);
        return;
    }
    ::shutdown(fd, SHUT_WR);
    on.set(*this, monotonic_ns() + linger_ns);
    locked l(guard);
    lingering_ = true;
    on.update(*this);
}

// RFC 9112 section 9.6: to input that comes behind the close the kernel answers by a reset, and
// then the peer can lose our last bytes. So while the peer still sends, or has not acknowledged all
// of them, its input is read and discarded. Inside of the loop, before the descriptor is closed.
bool socket::must_linger() noexcept {
    u8* unread = this_loop().scratch();
    for (int i = 0; i < unread_turns; i++) {
        i64 n = ::recv(fd, unread, loop::scratch_bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return false; // nothing comes any more
        if (n > 0) number_ += n;
        if (n < loop::scratch_bytes) break;
    }
    int unacknowledged = 0;
    return number_ > 0 || (ioctl(fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0);
}

// The last step of a loop for its socket.
void socket::retire(loop& on) noexcept {
    if (!on.forget(*this)) return;
    on.cancel(*this);
    leave();
    secured* s = secure_;
    if (s != nullptr) on.cancel(*s);
    {
        locked l(guard);
        lingering_ = false;
        secure_ = nullptr;
        in_.clear();
        out_.clear();
        ::close(fd);
        fd = -1;
    }
    if (s != nullptr) destroy(s);
    if (from_) from_->connection_ended();
    from_ = {};
    on.drop_client();
    disarm();
    // A timer may come here while mail for it is under way, which must still find it.
    if (mail.fetch_or(mail_done, order::acq_rel) == 0) header_of(*this)->drop();
}

// Tasks that were queued before still run and may write.
void socket::shut() noexcept {
    ref<socket> me = ref_of(*this);
    spawn([me](worker*, frame*) { me->close(); }, eve::write(me));
}

} // namespace eve

// tcp_socket and connection: the listener and the connections that it accepts.
#include "address.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "runtime.hpp"
#include "socket.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr i64 accept_retry_ns = 100'000'000; // a guess: how soon a descriptor becomes free
constexpr int longest_backlog = 0x7fffffff;  // the kernel's own limit applies: somaxconn

error listen_error(const string& name, int code) {
    formatter f;
    f.text("cannot listen on ", 17);
    f.put(name);
    f.text(": ", 2);
    const char* why = strerror(code);
    f.text(why, static_cast<i64>(strlen(why)));
    return error(code, f.take());
}

} // namespace

connection::~connection() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (from_) from_->connection_ended();
}

ref<socket> connection::call() {
    if (!taken_) {
        taken_ = make<socket>(socket(fd_, least_loaded_loop(), from_));
        if (const protector* by = from_->protector_of_all())
            taken_->secure_with(by->begin(string()), by->patience_ns(), true);
        fd_ = -1;
        taken_->adopt();
    }
    return taken_;
}

string connection::address() const { return taken_ ? taken_->address() : peer_text(fd_); }

const emitter_hooks tcp_socket::hooks = {nullptr, on_unhandled, on_ended, on_failed, on_gone};

tcp_socket::tcp_socket() noexcept : emitter_base(&hooks), stoppable(kind::listener) {}

tcp_socket::tcp_socket(tcp_socket&&) noexcept
    : emitter_base(&hooks), stoppable(kind::listener), timer_node() {}

tcp_socket::~tcp_socket() {
    if (fd >= 0) ::close(fd);
}

ref<tcp_socket> tcp_socket::listen(i64 port, const string& host, i64 max,
                                   option<server_protection> by) {
    refuse_in_fake_time("a listener");
    auto l = make<tcp_socket>(tcp_socket());
    l->max_ = max;
    if (by.has()) l->by_ = *by;
    l->home = &this_loop();
    l->bind_to(port, host);
    header* self = l.object();
    self->keep();
    arm();
    l->enter();
    self->keep();
    this_loop().start_later(*l);
    return l;
}

void tcp_socket::bind_to(i64 port, const string& host) noexcept {
    struct address a;
    name_ = text_of(host, port);
    if (!parse_address(host, port, a)) {
        why_not_ = EADDRNOTAVAIL;
        return;
    }
    auto* at = reinterpret_cast<sockaddr*>(&a.what);
    int on = 1;
    fd = ::socket(a.what.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    // Connections inherit TCP_NODELAY: the runtime gathers output itself.
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (!is_unix(a) && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)) {
        why_not_ = errno;
        return;
    }
    why_not_ = eve::bind_to(fd, a);
    if (why_not_ != 0) return;
    file_ = file_of(a);
    if (::listen(fd, longest_backlog) != 0 || getsockname(fd, at, &a.size) != 0) {
        why_not_ = errno;
        return;
    }
    port_ = port_of(a);
    watch_peer(fd);
}

// The body that called listen has registered its handlers by now, so no event is lost.
void tcp_socket::start(loop&) {
    header* self = header_of(*this);
    if (why_not_ != 0) {
        post(self, create<emission_of<error>>(listen_error(name_, why_not_)));
        close();
    } else {
        post(self, create<emission_of<listening>>(listening{port_}));
        locked l(guard);
        started_ = true;
        if (wanted() != 0) home->update(*this);
    }
    if (ending()) shut();
    self->drop();
}

u8 tcp_socket::wanted() const noexcept {
    bool full = max_ > 0 && open_ >= max_;
    return started_ && !closed_ && !busy_ && !out_of_resources_ && !full ? io_in : 0;
}

void tcp_socket::accepted(loop& on, int fresh) {
    if (fresh < 0) { // out of descriptors or memory; clients wait in the backlog
        {
            locked l(guard);
            out_of_resources_ = true;
        }
        on.set(*this, monotonic_ns() + accept_retry_ns);
        return;
    }
    {
        locked l(guard);
        busy_ = true;
        open_++;
    }
    header* self = header_of(*this);
    connection c(fresh, ref_of(*this));
    fire(self, key_of<connection>(), &c, emission_of<connection>::keep);
}

void tcp_socket::expire(loop& on, i64) {
    locked l(guard);
    out_of_resources_ = false;
    if (wanted() != 0) on.update(*this);
}

void tcp_socket::connection_ended() noexcept {
    locked l(guard);
    open_--;
    if ((wanted() & ~have) != 0) home->update(*this);
}

bool tcp_socket::on_unhandled(emitter_base& e, event_key key, void* event) {
    if (key == key_of<error>()) {
        string why = static_cast<error*>(event)->text();
        const char* path = arguments()[0];
        const char* slash = strrchr(path, '/');
        const char* name = slash != nullptr ? slash + 1 : path;
        formatter f;
        f.text(name, static_cast<i64>(strlen(name)));
        f.text(": ", 2);
        f.put(why);
        f.byte('\n');
        (void)!::write(2, f.data(), static_cast<usize>(f.size()));
        end_process(1);
    }
    on_ended(e, key, event);
    return true;
}

void tcp_socket::on_ended(emitter_base& e, event_key key, void*) {
    if (key != key_of<connection>()) return;
    auto& s = static_cast<tcp_socket&>(e);
    locked l(s.guard);
    s.busy_ = false;
    if ((s.wanted() & ~s.have) != 0) s.home->update(s);
}

bool tcp_socket::on_failed(emitter_base& e, const failure& f) {
    auto& s = static_cast<tcp_socket&>(e);
    bool heard = s.handles(key_of<error>()) &&
                 s.post(header_of(s), create<emission_of<error>>(f.as_error()));
    s.close();
    return heard;
}

void tcp_socket::close() noexcept {
    {
        locked l(guard);
        if (closed_) return;
        closed_ = true;
    }
    post_last(header_of(*this), create<emission_of<eve::close>>(eve::close{}));
}

void tcp_socket::on_gone(emitter_base& e) {
    auto& s = static_cast<tcp_socket&>(e);
    s.home->mail(s, mail_retire);
}

void tcp_socket::shut() noexcept { close(); }

void tcp_socket::mailed(loop& on, u32) {
    if (!on.forget(*this)) return;
    on.cancel(*this);
    leave();
    {
        locked l(guard);
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
    struct address a;
    if (file_ != 0 && parse_address(name_, 0, a)) remove_file(a, file_);
    disarm();
    header_of(*this)->drop();
}

} // namespace eve

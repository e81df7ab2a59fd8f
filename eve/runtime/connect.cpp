// tcp_socket.connect: the name is looked up. Then its addresses are tried one after the other,
// without blocking. The handshake of a protected connection follows.
#include "address.hpp"
#include "lookup.hpp"
#include "socket.hpp"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

namespace eve {

namespace {

using outcome = result<ref<socket>>;

constexpr int reads_a_turn = 4; // of a handshake, 64 KiB each

error connect_error(const string& name, const string& why, i64 code) {
    return error(code, string::literal("cannot connect to ") + name + string::literal(": ") + why);
}

// The timer is the time limit of the handshake.
class connecting final : public operation_for<outcome>, public channel, timer_node {
public:
    connecting(const string& host, i64 port, protection by, ref<opening> how) noexcept
        : channel(kind::other), host_(host), name_(text_of(host, port)), port_(port), by_(move(by)),
          how_(move(how)) {}

    void begin() override;
    void cancel() noexcept override;
    void end() noexcept override { destroy(this); }
    ~connecting();

    u8 wanted() const noexcept override {
        if (!waiting_) return 0;
        return layer_ == nullptr ? io_out : layer_->made.empty() ? io_in : io_in | io_out;
    }
    void ready(loop& on, u8 events) override;
    void mailed(loop& on, u32 what) override;

private:
    void expire(loop& on, i64) override { fail(on, layer_->too_slow()); }
    void attempt(loop& on);
    void fail(loop& on, const error& why);
    void stop();
    bool receive() noexcept;
    bool send() noexcept;
    void shake(loop& on);
    bool give_up_descriptor(loop& on);
    void succeed(loop& on);

    string host_;
    string name_;
    i64 port_;
    lookup* lookup_ = nullptr; // until it was abandoned
    addrinfo* next_ = nullptr;
    address only_;
    bool numeric_ = false;
    bool waiting_ = false; // under the guard
    bool unwanted_ = false;
    bool finished_ = false;
    bool looking_ = false; // the lookup has not ended
    int code_ = 0;
    int connected_ = -1;
    protection by_;
    ref<opening> how_;       // until it has begun; may be null
    layer* layer_ = nullptr; // of the handshake under way
    error why_;              // of its failure
    bool failed_ = false;
};

connecting::~connecting() {
    delete layer_;
    delete lookup_;
}

void connecting::begin() {
    home = &this_loop();
    visit me(*home);
    if (how_ && !how_->join(*this, *this)) {
        failed_ = true;
        why_ = error(ECANCELED, string::literal("cancelled"));
        attempt(*home);
        return;
    }
    how_ = {};
    numeric_ = !host_.empty() && parse_address(host_, port_, only_);
    if (numeric_) {
        attempt(*home);
        return;
    }
    lookup_ = new lookup(host_, port_, *this);
    looking_ = true;
    lookup_->begin();
}

void connecting::cancel() noexcept {
    unwanted_ = true;
    if (looking_ && lookup_->abandon()) {
        lookup_ = nullptr;
        attempt(*home);
        return;
    }
    if (!waiting_) return;
    {
        locked l(guard);
        waiting_ = false;
    }
    if (give_up_descriptor(*home)) attempt(*home);
}

// The program gives it up.
void connecting::stop() {
    if (finished_ || unwanted_) return;
    if (try_complete()) {
        if (limit_ != nullptr) cancel_deadline(limit_);
        error why(ECANCELED, string::literal("cancelled"));
        deliver_(this, outcome(connect_error(name_, why.text(), why.code())));
    }
    cancel();
}

void connecting::mailed(loop& on, u32 what) {
    if (what & mail_clock) {
        stop();
        drop(); // the count of the mail
        what &= ~static_cast<u32>(mail_clock);
        if (what == 0) return;
    }
    if (what & mail_retire) { // the ring has released a descriptor
        if (connected_ >= 0) succeed(on);
        else if (give_up_descriptor(on)) attempt(on);
        return;
    }
    looking_ = false;
    next_ = lookup_->found();
    attempt(on);
}

// Tries the addresses from the current one on, until one is under way or none is left.
void connecting::attempt(loop& on) {
    while (!unwanted_ && !failed_ && (numeric_ || next_ != nullptr)) {
        address to = only_;
        if (!numeric_) {
            memcpy(&to.what, next_->ai_addr, next_->ai_addrlen);
            to.size = next_->ai_addrlen;
            next_ = next_->ai_next;
        }
        numeric_ = false;
        fd = ::socket(to.what.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        code_ = fd < 0 ? errno : 0;
        if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&to.what), to.size) != 0)
            code_ = errno;
        if (fd >= 0 && (code_ == 0 || code_ == EINPROGRESS)) {
            locked l(guard);
            waiting_ = true;
            on.update(*this); // ready is called at once if the connection is already there
            return;
        }
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
    on.cancel(*this);
    finished_ = true;
    int unknown = lookup_ != nullptr ? lookup_->code() : 0;
    const char* why = unknown != 0 ? gai_strerror(unknown) : strerror(code_);
    if (failed_) done(outcome(connect_error(name_, why_.text(), why_.code())));
    else
        done(outcome(connect_error(name_, string(why, static_cast<i64>(strlen(why))),
                                   unknown != 0 ? EHOSTUNREACH : code_)));
    drop();
}

bool connecting::give_up_descriptor(loop& on) {
    if (!on.forget(*this)) return false;
    ::close(fd);
    fd = -1;
    return true;
}

void connecting::ready(loop& on, u8) {
    if (!waiting_) return;
    {
        locked l(guard);
        waiting_ = false;
    }
    if (layer_ != nullptr) {
        if (receive()) shake(on);
        else fail(on, layer_->cut_off(true));
        return;
    }
    socklen_t size = sizeof code_;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code_, &size);
    if (code_ == 0 && by_.get() != nullptr) {
        layer_ = by_.get()->begin(host_);
        on.set(*this, monotonic_ns() + by_.get()->patience_ns());
        shake(on);
    } else if (code_ == 0) {
        connected_ = fd;
        succeed(on);
    } else if (give_up_descriptor(on)) {
        attempt(on);
    }
}

void connecting::fail(loop& on, const error& why) {
    failed_ = true;
    why_ = why;
    {
        locked l(guard);
        waiting_ = false;
    }
    if (give_up_descriptor(on)) attempt(on);
}

// False: the connection has ended.
bool connecting::receive() noexcept {
    u8* buffer = this_loop().scratch();
    for (int i = 0; i < reads_a_turn; i++) {
        i64 n = ::recv(fd, buffer, loop::scratch_bytes, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        layer_->came(buffer, n);
        if (n < loop::scratch_bytes) return true;
    }
    return true;
}

// The same. What the kernel does not take stays in made.
bool connecting::send() noexcept {
    byte_queue& out = layer_->made;
    while (!out.empty()) {
        i64 n = ::send(fd, out.data(), static_cast<usize>(out.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) out.consume(n);
        else if (errno == EAGAIN) return true;
        else if (errno != EINTR) return false;
    }
    return true;
}

// The next step of the handshake.
void connecting::shake(loop& on) {
    layer::progress now = layer_->shake();
    error why = now == layer::progress::failed ? layer_->why() : layer_->cut_off(true);
    if (!send() || now == layer::progress::failed) {
        fail(on, why);
    } else if (now == layer::progress::done && layer_->made.empty()) {
        connected_ = fd;
        succeed(on);
    } else {
        locked l(guard);
        waiting_ = true;
        on.update(*this);
    }
}

void connecting::succeed(loop& on) {
    if (!on.forget(*this)) return;
    on.cancel(*this);
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    watch_peer(fd);
    fd = -1;
    auto s = make<socket>(socket(connected_, on, {}));
    if (layer_ != nullptr) s->secure_with(layer_, 0, false);
    layer_ = nullptr;
    finished_ = true;
    done(outcome(move(s)));
    drop();
}

using names = result<vector<string>>;

// The addresses of a name, as text.
class resolving final : public operation_for<names>, public channel {
public:
    explicit resolving(const string& host) noexcept : channel(kind::other), host_(host) {}
    ~resolving() { delete lookup_; }

    void begin() override {
        home = &this_loop();
        visit me(*home);
        lookup_ = new lookup(host_, 0, *this);
        lookup_->begin();
    }
    void cancel() noexcept override {
        if (lookup_ == nullptr || !lookup_->abandon()) return;
        lookup_ = nullptr;
        finish(vector<string>());
    }
    void end() noexcept override { destroy(this); }
    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}
    void mailed(loop&, u32) override;

private:
    void finish(names found) {
        this->done(move(found));
        this->drop();
    }

    string host_;
    lookup* lookup_ = nullptr;
};

void resolving::mailed(loop&, u32) {
    vector<string> all;
    if (int code = lookup_->code()) {
        const char* why = gai_strerror(code);
        finish(error(EHOSTUNREACH, string::literal("cannot find ") + host_ + string::literal(": ") +
                                       string(why, static_cast<i64>(strlen(why)))));
        return;
    }
    for (addrinfo* a = lookup_->found(); a != nullptr; a = a->ai_next) {
        address at;
        memcpy(&at.what, a->ai_addr, a->ai_addrlen);
        at.size = a->ai_addrlen;
        string text = number_of(at);
        if (!all.contains(text)) all.push(move(text));
    }
    finish(move(all));
}

} // namespace

ref<opening> opening::begin() { return make<opening>(opening()); }

opening::~opening() {
    if (what_ != nullptr) what_->drop();
}

bool opening::join(operation& what, channel& at) noexcept {
    locked l(guard_);
    if (over_) return false;
    if (what_ != nullptr) what_->drop();
    what.keep();
    what_ = &what;
    at_ = &at;
    return true;
}

void opening::cancel() noexcept {
    {
        locked l(guard_);
        over_ = true;
        if (what_ == nullptr) return;
        what_ = nullptr; // its count goes with the mail
    }
    at_->home->mail(*at_, mail_clock);
}

async<outcome> tcp_socket::connect(const string& host, i64 port, option<client_protection> by,
                                   option<ref<opening>> how) {
    refuse_in_fake_time("a connection");
    return async<outcome>(create<connecting>(host, port, by.has() ? protection(*by) : protection(),
                                             how.has() ? *how : ref<opening>()));
}

async<result<vector<string>>> tcp_socket::addresses(const string& host) {
    return async<names>(create<resolving>(host));
}

received<outcome>::received(const outcome& r) noexcept {
    if (r.ok()) socket_ = *r;
}

received<outcome>::~received() {
    if (socket_) socket_->adopt();
}

} // namespace eve

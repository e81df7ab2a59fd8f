#include "udp.hpp"

#include "address.hpp"
#include "c_path.hpp"
#include "file.hpp"
#include "pollable.hpp"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace eve::io::udp {

namespace {

constexpr i64 most_bytes = 65535;     // of a datagram: the length field of UDP (RFC 768)
constexpr i64 most_waiting = 1 << 20; // bytes that wait for the kernel's room; a guess
constexpr i64 most_hops = 255;        // RFC 791, RFC 8200

sockaddr* raw(address& a) noexcept { return reinterpret_cast<sockaddr*>(&a.what); }
sockaddr_in& four(address& a) noexcept { return *reinterpret_cast<sockaddr_in*>(&a.what); }
sockaddr_in6& six(address& a) noexcept { return *reinterpret_cast<sockaddr_in6*>(&a.what); }
bool is_six(const address& a) noexcept { return a.what.ss_family == AF_INET6; }

// The number of a network interface, by its name or its number; 0: there is none.
u32 interface_of(const string& name) noexcept {
    c_path text(name);
    if (!text.valid() || name.empty()) return 0;
    if (u32 number = if_nametoindex(text.text())) return number;
    char* end;
    unsigned long number = strtoul(text.text(), &end, 10);
    return *end == '\0' && number <= 0x7fffffff ? static_cast<u32>(number) : 0;
}

// Reads an address; "fe80::1%eth0" is one of the network eth0 (RFC 4007). Returns 0 or an errno.
int read_address(const string& host, i64 port, address& to) noexcept {
    i64 zone = host.find_from(string::literal("%"), 0);
    string number = zone < 0 ? host : host.cut(0, zone, nullptr);
    if (is_path(host) || !parse_address(number, port, to)) return EADDRNOTAVAIL;
    if (zone < 0) return 0;
    u32 at = interface_of(host.cut(zone + 1, host.size(), nullptr));
    if (!is_six(to) || at == 0) return EADDRNOTAVAIL;
    six(to).sin6_scope_id = at;
    return 0;
}

// An address of IPv4, as sockets of IPv6 know it (RFC 4291, section 2.5.5.2).
void map_to_six(address& a) noexcept {
    sockaddr_in old = four(a);
    memset(&a, 0, sizeof a);
    six(a).sin6_family = AF_INET6;
    six(a).sin6_port = old.sin_port;
    six(a).sin6_addr.s6_addr[10] = six(a).sin6_addr.s6_addr[11] = 0xff;
    memcpy(six(a).sin6_addr.s6_addr + 12, &old.sin_addr, 4);
    a.size = sizeof(sockaddr_in6);
}

string host_of(address& a) {
    if (is_six(a) && IN6_IS_ADDR_V4MAPPED(&six(a).sin6_addr)) {
        sockaddr_in6 old = six(a);
        memset(&a, 0, sizeof a);
        four(a).sin_family = AF_INET;
        four(a).sin_port = old.sin6_port;
        memcpy(&four(a).sin_addr, old.sin6_addr.s6_addr + 12, 4);
        a.size = sizeof(sockaddr_in);
    }
    string number = number_of(a);
    char name[IF_NAMESIZE] = "";
    if (!is_six(a) || six(a).sin6_scope_id == 0 ||
        if_indextoname(six(a).sin6_scope_id, name) == nullptr)
        return number;
    return number + string::literal("%") + string(name, static_cast<i64>(strlen(name)));
}

result<void> outcome(const char* what, const string& about, int code) {
    if (code == 0) return result<void>();
    return result<void>(fs::file_error(what, about, code));
}

// An operation of a socket.
template <class T> class operation_of : public polling<T> {
protected:
    operation_of(udp_socket& of, const char* what) noexcept : of_(ref_of(of)), what_(what) {}
    ~operation_of() = default;

    pollable& core() noexcept override { return of_->core(); }
    error why(int code) override { return fs::file_error(what_, of_->named(), code); }

    ref<udp_socket> of_;
    const char* what_;
};

class receiving final : public operation_of<datagram> {
public:
    receiving(udp_socket& of, i64 most) noexcept
        : operation_of(of, "receive on"), most_(most < most_bytes ? most : most_bytes) {}

    void begin() override {
        if (most_ >= 1) return core().begin(*this, io_in);
        refuse(EINVAL);
        finish();
    }
    bool attempt(int fd) noexcept override;

private:
    result<datagram> good() override { return move(got_); }
    void end() noexcept override { destroy(this); }

    i64 most_;
    datagram got_;
};

bool receiving::attempt(int fd) noexcept {
    bytes data;
    address from;
    iovec part{data.room(most_), static_cast<usize>(most_)};
    msghdr message{};
    message.msg_name = &from.what;
    message.msg_namelen = sizeof from.what;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    i64 n;
    do n = recvmsg(fd, &message, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) {
        code_ = errno;
        return true;
    }
    from.size = message.msg_namelen;
    string host = host_of(from);
    got_ = datagram(string(reinterpret_cast<const char*>(data.data()), n), host, port_of(from),
                    (message.msg_flags & MSG_TRUNC) != 0);
    return true;
}

class sending final : public operation_of<void> {
public:
    // Without `to`, to the peer.
    sending(udp_socket& of, bytes data, const address* to, string name, int code) noexcept
        : operation_of(of, "send to"), data_(move(data)), named_(move(name)) {
        code_ = code;
        addressed_ = to != nullptr;
        if (addressed_) to_ = *to;
    }

    void begin() override {
        if (code_ == 0 && !of_->count_in(data_.size())) code_ = ENOBUFS;
        if (code_ != 0) return finish();
        counted_ = true;
        core().begin(*this, io_out);
    }
    bool attempt(int fd) noexcept override {
        i64 n;
        do
            n = ::sendto(fd, data_.data(), static_cast<usize>(data_.size()),
                         MSG_DONTWAIT | MSG_NOSIGNAL, addressed_ ? raw(to_) : nullptr,
                         addressed_ ? to_.size : 0);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN) return false;
        code_ = n < 0 ? errno : 0;
        return true;
    }
    void finish() override {
        if (counted_) of_->count_out(data_.size());
        operation_of::finish();
    }

private:
    void given_up() noexcept override { of_->count_out(data_.size()); }
    result<void> good() override { return result<void>(); }
    error why(int code) override {
        return fs::file_error(what_, named_.empty() ? of_->named() : named_, code);
    }
    void end() noexcept override { destroy(this); }

    bytes data_;
    address to_{};
    string named_; // of whom it is sent to; empty: the peer
    bool addressed_;
    bool counted_ = false;
};

// Answers when the descriptor is closed, so the port is free.
class closing final : public operation_for<void>, public polled {
public:
    explicit closing(udp_socket& of) noexcept : of_(ref_of(of)) {}

    void begin() override { of_->core().close(this); }
    void cancel() noexcept override {} // it ends soon
    bool attempt(int) noexcept override { return true; }
    void refuse(int) noexcept override {}
    void finish() override {
        done(nothing{});
        drop();
    }
    void end() noexcept override { destroy(this); }

private:
    ref<udp_socket> of_;
};

} // namespace

udp_socket::udp_socket(pollable* core, const address& own)
    : core_(core), port_(port_of(own)), six_(is_six(own)) {
    address a = own;
    host_ = host_of(a);
    name_ = text_of(host_, port_);
}

// Moved only before it is shared.
udp_socket::udp_socket(udp_socket&& fresh) noexcept
    : core_(fresh.core_), host_(move(fresh.host_)), port_(fresh.port_), name_(move(fresh.name_)),
      six_(fresh.six_) {
    fresh.core_ = nullptr;
}

udp_socket::~udp_socket() {
    if (core_ != nullptr) core_->forsake();
}

string udp_socket::named() const {
    locked l(core_->guard);
    return peer_.empty() ? name_ : peer_;
}

bool udp_socket::count_in(i64 size) noexcept {
    i64 was = waiting_.fetch_add(size, order::relaxed);
    if (was + size <= most_waiting) return true;
    waiting_.fetch_sub(size, order::relaxed);
    return false;
}

result<ref<udp_socket>> udp_socket::bind(i64 port, const string& host, bool reuse, bool broadcast) {
    refuse_in_fake_time("a socket for datagrams");
    address own;
    int code = read_address(host, port, own);
    int fd = -1;
    if (code == 0) {
        fd = ::socket(own.what.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int on = 1, off = 0;
        auto set = [&](int level, int name, int& value) {
            return setsockopt(fd, level, name, &value, sizeof value) == 0;
        };
        bool fine = fd >= 0 && (!is_six(own) || set(IPPROTO_IPV6, IPV6_V6ONLY, off)) &&
                    (!reuse || set(SOL_SOCKET, SO_REUSEADDR, on)) &&
                    (!broadcast || set(SOL_SOCKET, SO_BROADCAST, on)) &&
                    ::bind(fd, raw(own), own.size) == 0 &&
                    getsockname(fd, raw(own), &own.size) == 0;
        if (!fine) code = errno;
    }
    if (code != 0) {
        if (fd >= 0) ::close(fd);
        return fs::file_error("bind", text_of(host, port), code);
    }
    auto s = make<udp_socket>(udp_socket(create<pollable>(fd, true), own));
    s->core_->belong_to(s.object());
    return s;
}

result<void> udp_socket::connect(const string& host, i64 port) {
    address to;
    string name = text_of(host, port);
    int code = read_address(host, port, to);
    if (code == 0 && six_ && !is_six(to)) map_to_six(to);
    address own;
    own.size = sizeof own.what;
    if (code == 0) {
        code = core_->with([&](int fd) {
            if (::connect(fd, raw(to), to.size) != 0) return -1;
            peer_ = name;
            return getsockname(fd, raw(own), &own.size);
        });
    }
    if (code == 0) host_ = host_of(own); // the one by which the peer is reached
    return outcome("connect to", name, code);
}

// The kernel chooses the network if none is named.
result<void> udp_socket::change(const string& group, const string& network, bool joins) {
    address to;
    u32 at = network.empty() ? 0 : interface_of(network);
    int code = read_address(group, 0, to);
    if (code == 0 && !network.empty() && at == 0) code = ENODEV;
    if (code == 0) {
        code = core_->with([&](int fd) {
            if (is_six(to)) {
                ipv6_mreq what{six(to).sin6_addr, at != 0 ? at : six(to).sin6_scope_id};
                return setsockopt(fd, IPPROTO_IPV6, joins ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP,
                                  &what, sizeof what);
            }
            ip_mreqn what{four(to).sin_addr, {}, static_cast<int>(at)};
            return setsockopt(fd, IPPROTO_IP, joins ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &what,
                              sizeof what);
        });
    }
    return outcome(joins ? "join" : "leave", group, code);
}

result<void> udp_socket::join(const string& group, const string& network) {
    return change(group, network, true);
}

result<void> udp_socket::leave(const string& group, const string& network) {
    return change(group, network, false);
}

result<void> udp_socket::multicast(const string& network, i64 hops, bool loopback) {
    u32 at = network.empty() ? 0 : interface_of(network);
    if (!network.empty() && at == 0) return outcome("multicast on", network, ENODEV);
    if (hops < 0 || hops > most_hops) return outcome("multicast on", name_, EINVAL);
    int code = core_->with([&](int fd) {
        int far = static_cast<int>(hops), own = loopback ? 1 : 0, by = static_cast<int>(at);
        ip_mreqn out{{}, {}, by};
        if (six_ && (setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &by, sizeof by) != 0 ||
                     setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &far, sizeof far) != 0 ||
                     setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &own, sizeof own) != 0))
            return -1;
        if (six_) return 0;
        if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) != 0 ||
            setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &far, sizeof far) != 0)
            return -1;
        return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &own, sizeof own);
    });
    return outcome("multicast on", name_, code);
}

result<void> udp_socket::room(i64 size) {
    if (size < 1 || size > 0x3fffffff) return outcome("room of", name_, EINVAL);
    int bytes = static_cast<int>(size);
    int code = core_->with(
        [&](int fd) { return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes); });
    return outcome("room of", name_, code);
}

async<result<datagram>> udp_socket::receive(i64 most) {
    return async<result<datagram>>(create<receiving>(*this, most));
}

async<result<void>> udp_socket::send(eve::bytes data) {
    return async<result<void>>(create<sending>(*this, move(data), nullptr, string(), 0));
}

async<result<void>> udp_socket::send_to(const string& host, i64 port, eve::bytes data) {
    address to;
    int code = read_address(host, port, to);
    if (code == 0 && six_ && !is_six(to)) map_to_six(to);
    return async<result<void>>(create<sending>(*this, move(data), &to, text_of(host, port), code));
}

async<void> udp_socket::close() { return async<void>(create<closing>(*this)); }

} // namespace eve::io::udp

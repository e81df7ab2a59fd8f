#pragma once
// Module io.udp: datagrams over UDP (std/io/udp.eve).
#include "async.hpp"
#include "object.hpp"
#include "result.hpp"
#include "vector.hpp"

namespace eve {

class pollable;
struct address;

} // namespace eve

namespace eve::io::udp {

// A datagram that has arrived, with the address of its sender. Any thread, all methods.
class datagram {
public:
    datagram() noexcept = default;
    datagram(string text, string host, i64 port, bool truncated) noexcept
        : text_(static_cast<string&&>(text)), host_(static_cast<string&&>(host)), port_(port),
          truncated_(truncated) {}

    string text() const noexcept { return text_; }
    eve::bytes bytes() const { return text_.bytes(); }
    string host() const noexcept { return host_; }
    i64 port() const noexcept { return port_; }
    bool truncated() const noexcept { return truncated_; }

    u64 hash_value() const noexcept {
        return hash_join(hash_join(hash_of(text_), hash_of(host_)), hash_of(port_));
    }
    friend bool operator==(const datagram& a, const datagram& b) noexcept {
        return a.text_ == b.text_ && a.host_ == b.host_ && a.port_ == b.port_ &&
               a.truncated_ == b.truncated_;
    }

private:
    string text_;
    string host_;
    i64 port_ = 0;
    bool truncated_ = false;
};

class udp_socket {
public:
    static result<ref<udp_socket>> bind(i64 port, const string& host, bool reuse, bool broadcast);

    udp_socket(udp_socket&& fresh) noexcept;
    udp_socket& operator=(udp_socket&&) = delete;
    ~udp_socket();

    // Under read permission.
    string host() const noexcept { return host_; }
    i64 port() const noexcept { return port_; }
    // Under full permission.
    result<void> connect(const string& host, i64 port);
    result<void> join(const string& group, const string& network);
    result<void> leave(const string& group, const string& network);
    result<void> multicast(const string& network, i64 hops, bool loopback);
    result<void> room(i64 size);

    // Any thread.
    async<result<datagram>> receive(i64 most);
    async<result<void>> send(eve::bytes data);
    async<result<void>> send_to(const string& host, i64 port, eve::bytes data);
    async<void> close();

    // Any thread, for operations.
    pollable& core() const noexcept { return *core_; }
    // What an error names: the peer, or without one the socket's own address.
    string named() const;
    // Whether there is room for so many bytes more that wait to be sent; if so, they are counted.
    bool count_in(i64 size) noexcept;
    void count_out(i64 size) noexcept { waiting_.fetch_sub(size, order::relaxed); }

private:
    udp_socket(pollable* core, const address& own);
    result<void> change(const string& group, const string& network, bool joins);

    pollable* core_;
    string host_;
    i64 port_;
    string name_; // host:port of the socket
    string peer_; // host:port of its peer; empty: there is none. Under the guard of core_
    bool six_;    // its addresses are of IPv6
    atomic<i64> waiting_;
};

} // namespace eve::io::udp

#pragma once
// What stands between a socket and the network if its connection is protected: TLS. Sockets know
// this interface only, so programs without TLS need no library for it. Module io.tls makes
// protections.
//
//   layer& l = *of.begin(host);            // of one connection
//   l.came(data, size);                    // from the network
//   if (l.shake() == layer::progress::done) l.unseal(input);
//   send(l.made);                          // to the network
#include "buffer.hpp"
#include "object.hpp"
#include "result.hpp"

namespace eve {

// The protection of one connection. Not thread-safe.
class layer {
public:
    enum class progress : u8 {
        more,  // it needs more from the network
        done,  // shake: the handshake is over; unseal: the peer has ended its side
        failed // why() says how; made may have a last message for the peer
    };
    layer() noexcept {}
    layer(const layer&) = delete;
    layer& operator=(const layer&) = delete;
    virtual ~layer() = default;

    // Bytes of the network. They are kept until they are used.
    virtual void came(const u8* data, i64 size) noexcept = 0;
    virtual progress shake() noexcept = 0;
    // The rest is for after the handshake.
    // Appends what has come to plain.
    virtual progress unseal(byte_queue& plain) noexcept = 0;
    // Takes some of plain, and appends what it becomes to made. False: it failed.
    virtual bool seal(byte_queue& plain) noexcept = 0;
    // Tells the peer that nothing follows.
    virtual void finish() noexcept = 0;
    virtual error why() const = 0;
    // The network has ended, within the handshake or without the peer's having told that nothing
    // follows; or the handshake has taken too long.
    virtual error cut_off(bool shaking) const = 0;
    virtual error too_slow() const = 0;
    // What both sides have agreed to speak (ALPN, RFC 7301); empty: nothing.
    virtual string protocol() const = 0;

    byte_queue made; // for the network
};

// Makes layers. Any thread, all methods.
class protector {
public:
    explicit protector(i64 patience_ns) noexcept : patience_ns_(patience_ns) {}
    protector(const protector&) = delete;
    protector& operator=(const protector&) = delete;
    virtual ~protector() = default;

    // `host` is the server that a client connects to.
    virtual layer* begin(const string& host) const = 0;
    // How long a handshake may take.
    i64 patience_ns() const noexcept { return patience_ns_; }

private:
    i64 patience_ns_;
};

// A counted protector. The zero value has none.
class protection {
public:
    protection() noexcept = default;
    // Takes the protector over.
    explicit protection(protector* what) : held_(make<holder>(holder(what))) {}

    const protector* get() const noexcept { return held_ ? held_->what : nullptr; }
    u64 hash_value() const noexcept { return held_.hash(); }
    friend bool operator==(const protection& a, const protection& b) noexcept {
        return a.held_ == b.held_;
    }

private:
    struct holder {
        protector* what;
        explicit holder(protector* p) noexcept : what(p) {}
        holder(holder&& other) noexcept : what(other.what) { other.what = nullptr; }
        holder& operator=(holder&&) = delete;
        ~holder() { delete what; }
    };
    ref<holder> held_;
};

class server_protection : public protection {
public:
    using protection::protection;
};
class client_protection : public protection {
public:
    using protection::protection;
};

} // namespace eve

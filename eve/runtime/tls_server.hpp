#pragma once
// What a server of TLS proves itself by. It can be read again while the server runs.
#include "lock.hpp"
#include "protection.hpp"
#include "tls_settings.hpp"
#include "tuple.hpp"
#include "vector.hpp"

struct ssl_st;

namespace eve::io::tls {

using pairs = vector<tuple<string, string>>; // of files: a chain, and the key of its certificate

// The certificates as they were read at one time. A connection keeps those that it began with.
class certificates {
public:
    explicit certificates(bytes protocols) noexcept : protocols_(move(protocols)) {}

    void add(settings&& one) { all_.push(move(one)); }
    // Once, when all are there, and this object is moved no more.
    void complete() noexcept;
    // Shown to a client that does not name the server.
    const settings& first() const noexcept { return all_[0]; }

private:
    static int choose(ssl_st* connection, int*, void* self);
    static int agree(ssl_st*, const u8** chosen, u8* size, const u8* offered, unsigned offered_size,
                     void* self);

    bytes protocols_; // of ALPN, as they are sent; empty: any
    vector<settings> all_;
};

class server_protector final : public protector {
public:
    // `clients` is the file of their issuers; empty: they need no certificate.
    server_protector(pairs files, string clients, bytes protocols, i64 patience_ns) noexcept
        : protector(patience_ns), files_(move(files)), clients_(move(clients)),
          protocols_(move(protocols)) {}

    layer* begin(const string&) const override;

    // On a thread of the pool. Reads the files; connections that begin from now on get what they
    // have. After an error all is as before. valid: a certificate that is not valid now is one.
    error read(bool valid) const;

private:
    const pairs files_;
    const string clients_;
    const bytes protocols_;
    // Under the guard, all below.
    mutable spin_lock guard_;
    mutable ref<certificates> now_;
    mutable u64 begun_ = 0; // calls of read
    mutable u64 shown_ = 0; // the call that has read what is in now_
};

} // namespace eve::io::tls

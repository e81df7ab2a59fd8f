#pragma once
// One connection of TLS. OpenSSL reads and writes by memory only, so it never waits.
#include "protection.hpp"

struct ssl_st;
struct ssl_ctx_st;
struct x509_st;
struct x509_store_ctx_st;

namespace eve::io::tls {

class certificates; // tls_server.hpp

class tls_layer final : public layer {
public:
    // `host` is the server that a client connects to; empty for a server. `own` are the
    // certificates of a server, which the settings refer to.
    tls_layer(ssl_ctx_st* settings, bool client, const string& host, ref<certificates> own = {});
    ~tls_layer() override;

    void came(const u8* data, i64 size) noexcept override { came_.append(data, size); }
    progress shake() noexcept override;
    progress unseal(byte_queue& plain) noexcept override;
    bool seal(byte_queue& plain) noexcept override;
    void finish() noexcept override;
    error why() const override { return why_; }
    error cut_off(bool shaking) const override;
    error too_slow() const override;
    string protocol() const override;

    ssl_st* connection() const noexcept { return connection_; }
    // For SSL_CTX_set_verify(3): notes the certificate that is not trusted.
    static int verified(int good, x509_store_ctx_st* chain);

private:
    friend struct memory_bio;
    progress failed() noexcept;

    ref<certificates> own_;
    ssl_st* connection_;
    byte_queue came_; // from the network, not yet read by OpenSSL
    string host_;
    error why_;
    x509_st* blamed_ = nullptr;
};

} // namespace eve::io::tls

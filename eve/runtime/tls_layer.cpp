#include "tls_layer.hpp"

#include "fail.hpp"
#include "tls_error.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

namespace eve::io::tls {

// The end of OpenSSL's connection to which the network would belong.
struct memory_bio {
    static int read(BIO* b, char* to, int size) {
        byte_queue& from = static_cast<tls_layer*>(BIO_get_data(b))->came_;
        BIO_clear_retry_flags(b);
        if (from.empty()) {
            BIO_set_retry_read(b);
            return -1;
        }
        int n = from.size() < size ? static_cast<int>(from.size()) : size;
        memcpy(to, from.data(), static_cast<usize>(n));
        from.consume(n);
        return n;
    }
    static int write(BIO* b, const char* from, int size) {
        BIO_clear_retry_flags(b);
        static_cast<tls_layer*>(BIO_get_data(b))->made.append(from, size);
        return size;
    }
    static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }
    static int create(BIO* b) {
        BIO_set_init(b, 1);
        return 1;
    }
    static BIO_METHOD* make() {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "eve");
        if (m == nullptr || BIO_meth_set_read(m, read) != 1 || BIO_meth_set_write(m, write) != 1 ||
            BIO_meth_set_ctrl(m, control) != 1 || BIO_meth_set_create(m, create) != 1)
            die_out_of_memory();
        return m;
    }
    static BIO* open(tls_layer* of) {
        static BIO_METHOD* const method = make();
        BIO* b = BIO_new(method);
        if (b == nullptr) die_out_of_memory();
        BIO_set_data(b, of);
        return b;
    }
};

namespace {

constexpr i64 most_sealed = 1 << 16; // bytes at a time: four records
constexpr int most_plain = 1 << 14;  // bytes of a record, RFC 8446 section 5.1
constexpr i64 longest_host = 253;    // RFC 1035, without the last dot

// Verifies that the server is this one, and tells the server which one is meant. A name that is too
// long fits no certificate.
void expect(ssl_st* connection, const string& host) {
    char name[longest_host + 2] = "";
    i64 size = host.size() <= longest_host ? host.size() : longest_host + 1;
    memcpy(name, host.data(), static_cast<usize>(size));
    unsigned char ip[sizeof(in6_addr)];
    bool is_ip = inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1;
    X509_VERIFY_PARAM* wanted = SSL_get0_param(connection);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int good = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name)
                     : X509_VERIFY_PARAM_set1_host(wanted, name, static_cast<usize>(size));
    if (good == 1 && !is_ip) SSL_set_tlsext_host_name(connection, name); // RFC 6066 section 3
    if (good != 1) die_out_of_memory();
}

} // namespace

tls_layer::tls_layer(ssl_ctx_st* settings, bool client, const string& host, ref<certificates> own)
    : own_(move(own)), connection_(SSL_new(settings)), host_(host) {
    if (connection_ == nullptr) die_out_of_memory();
    SSL_set_app_data(connection_, this);
    BIO* network = memory_bio::open(this);
    SSL_set_bio(connection_, network, network);
    if (client) {
        SSL_set_connect_state(connection_);
        expect(connection_, host);
    } else {
        SSL_set_accept_state(connection_);
    }
}

tls_layer::~tls_layer() {
    SSL_free(connection_);
    X509_free(blamed_);
}

int tls_layer::verified(int good, x509_store_ctx_st* chain) {
    if (good == 1) return good;
    auto* connection =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* of = static_cast<tls_layer*>(SSL_get_app_data(connection));
    X509* bad = X509_STORE_CTX_get_current_cert(chain);
    if (of->blamed_ == nullptr && bad != nullptr && X509_up_ref(bad) == 1) of->blamed_ = bad;
    return good;
}

layer::progress tls_layer::failed() noexcept {
    why_ = reason_of(connection_, host_, blamed_);
    return progress::failed;
}

layer::progress tls_layer::shake() noexcept {
    ERR_clear_error();
    int n = SSL_do_handshake(connection_);
    if (n == 1) return progress::done;
    return SSL_get_error(connection_, n) == SSL_ERROR_WANT_READ ? progress::more : failed();
}

layer::progress tls_layer::unseal(byte_queue& plain) noexcept {
    char part[most_plain];
    ERR_clear_error();
    for (;;) {
        int n = SSL_read(connection_, part, sizeof part);
        if (n > 0) {
            plain.append(part, n);
            continue;
        }
        switch (SSL_get_error(connection_, n)) {
        case SSL_ERROR_WANT_READ: return progress::more;
        case SSL_ERROR_ZERO_RETURN: return progress::done;
        default: return failed();
        }
    }
}

bool tls_layer::seal(byte_queue& plain) noexcept {
    ERR_clear_error();
    i64 size = plain.size() < most_sealed ? plain.size() : most_sealed;
    int n = SSL_write(connection_, plain.data(), static_cast<int>(size));
    if (n <= 0) {
        failed();
        return false;
    }
    plain.consume(n);
    return true;
}

void tls_layer::finish() noexcept {
    ERR_clear_error();
    SSL_shutdown(connection_);
    ERR_clear_error();
}

error tls_layer::cut_off(bool shaking) const {
    if (shaking)
        return error(tls::cut_off,
                     string::literal("the connection was closed during the handshake of TLS"));
    return error(truncated,
                 string::literal("the connection was cut off: TLS did not end before it"));
}

error tls_layer::too_slow() const {
    return error(timeout, string::literal("the handshake of TLS takes too long"));
}

string tls_layer::protocol() const {
    const u8* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(connection_, &name, &size);
    return string(reinterpret_cast<const char*>(name), size);
}

} // namespace eve::io::tls

#include "tls_settings.hpp"

#include "fail.hpp"
#include "tls_error.hpp"
#include "tls_layer.hpp"
#include "vector.hpp"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <unistd.h>

namespace eve::io::tls {

namespace {

// A path as C wants it.
struct c_text {
    bytes held;
    explicit c_text(const string& s) : held(s.bytes()) { held.push(0); }
    const char* get() const noexcept { return reinterpret_cast<const char*>(held.data()); }
};

error file_error(const string& path, const string& why) {
    return error(bad_file, path + string::literal(": ") + why);
}

error readable(const string& path) {
    bool whole = memchr(path.data(), 0, static_cast<usize>(path.size())) == nullptr;
    if (whole && access(c_text(path).get(), R_OK) == 0) return error();
    return file_error(path, text_of(strerror(whole ? errno : EINVAL)));
}

string reason(const char* what) {
    return text_of(what) + string::literal(" (") + last_reason() + string::literal(")");
}

} // namespace

settings::settings(bool client)
    : of_(SSL_CTX_new(client ? TLS_client_method() : TLS_server_method())) {
    if (of_ == nullptr) die_out_of_memory();
    SSL_CTX_set_min_proto_version(of_, TLS1_2_VERSION);
    SSL_CTX_set_options(of_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(of_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(of_, SSL_SESS_CACHE_OFF); // tickets need no memory
    // a key with a password would be asked for on the terminal
    SSL_CTX_set_default_passwd_cb(of_, [](char*, int, int, void*) { return 0; });
}

settings::~settings() { SSL_CTX_free(of_); }

error settings::use(const string& chain, const string& key) {
    if (error e = readable(chain); e.code() != 0) return e;
    if (error e = readable(key); e.code() != 0) return e;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(of_, c_text(chain).get()) != 1)
        return file_error(chain, reason("no certificate in PEM"));
    if (SSL_CTX_use_PrivateKey_file(of_, c_text(key).get(), SSL_FILETYPE_PEM) != 1)
        return file_error(key, reason("no private key of the certificate, in PEM"));
    return error();
}

error settings::trust(const string& roots) {
    if (error e = readable(roots); e.code() != 0) return e;
    ERR_clear_error();
    if (SSL_CTX_load_verify_file(of_, c_text(roots).get()) != 1)
        return file_error(roots, reason("no certificate in PEM"));
    return error();
}

error settings::untimely(const string& chain) const {
    error why = tls::untimely(SSL_CTX_get0_certificate(of_));
    if (why.code() == 0) return why;
    return error(why.code(), chain + string::literal(": ") + why.text());
}

error settings::ask_clients(const string& issuers) {
    if (error e = trust(issuers); e.code() != 0) return e;
    SSL_CTX_set_client_CA_list(of_, SSL_load_client_CA_file(c_text(issuers).get()));
    SSL_CTX_set_verify(of_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_layer::verified);
    static constexpr u8 id[] = "eve"; // sessions of clients with certificates need one
    SSL_CTX_set_session_id_context(of_, id, sizeof id - 1);
    return error();
}

void prepare() noexcept { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr); }

} // namespace eve::io::tls

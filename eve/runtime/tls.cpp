#include "tls.hpp"

#include "fail.hpp"
#include "format.hpp"
#include "slow.hpp"
#include "tls_certificate.hpp"
#include "tls_error.hpp"
#include "tls_layer.hpp"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace eve::io::tls {

namespace {

// Where systems keep the certificates that they trust, in the order in which they are looked for:
// Debian, Fedora, openSUSE, Alpine.
constexpr const char* root_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

constexpr i64 longest_protocol = 255; // RFC 7301 section 3.1

// A path as C wants it.
struct c_text {
    bytes held;
    explicit c_text(const string& s) : held(s.bytes()) { held.push(0); }
    const char* get() const noexcept { return reinterpret_cast<const char*>(held.data()); }
};

error file_error(const string& path, const string& why) {
    return error(bad_file, path + string::literal(": ") + why);
}

// The context of one pair of chain and key. The callbacks of OpenSSL find the settings by it.
class settings {
public:
    explicit settings(bool client)
        : of_(SSL_CTX_new(client ? TLS_client_method() : TLS_server_method())) {
        if (of_ == nullptr) die_out_of_memory();
        SSL_CTX_set_min_proto_version(of_, TLS1_2_VERSION);
        SSL_CTX_set_options(of_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        SSL_CTX_set_mode(of_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_session_cache_mode(of_, SSL_SESS_CACHE_OFF); // tickets need no memory
        // a key with a password would be asked for on the terminal
        SSL_CTX_set_default_passwd_cb(of_, [](char*, int, int, void*) { return 0; });
    }
    settings(settings&& other) noexcept : of_(other.of_) { other.of_ = nullptr; }
    settings& operator=(settings&&) = delete;
    ~settings() { SSL_CTX_free(of_); }

    SSL_CTX* get() const noexcept { return of_; }

    error use(const string& chain, const string& key) {
        if (error e = readable(chain); e.code() != 0) return e;
        if (error e = readable(key); e.code() != 0) return e;
        ERR_clear_error();
        if (SSL_CTX_use_certificate_chain_file(of_, c_text(chain).get()) != 1)
            return file_error(chain, reason("no certificate in PEM"));
        if (SSL_CTX_use_PrivateKey_file(of_, c_text(key).get(), SSL_FILETYPE_PEM) != 1)
            return file_error(key, reason("no private key of the certificate, in PEM"));
        return error();
    }

    error trust(const string& roots) {
        if (error e = readable(roots); e.code() != 0) return e;
        ERR_clear_error();
        if (SSL_CTX_load_verify_file(of_, c_text(roots).get()) != 1)
            return file_error(roots, reason("no certificate in PEM"));
        return error();
    }

private:
    static error readable(const string& path) {
        bool whole = memchr(path.data(), 0, static_cast<usize>(path.size())) == nullptr;
        if (whole && access(c_text(path).get(), R_OK) == 0) return error();
        return file_error(path, text_of(strerror(whole ? errno : EINVAL)));
    }
    static string reason(const char* what) {
        return text_of(what) + string::literal(" (") + last_reason() + string::literal(")");
    }

    SSL_CTX* of_;
};

// The list of protocols of ALPN as it is sent, RFC 7301. False: one of them has no name, or too
// long a one.
bool pack(const vector<string>& protocols, bytes& all) {
    for (const string& p : protocols) {
        if (p.empty() || p.size() > longest_protocol) return false;
        all.push(static_cast<u8>(p.size()));
        all.append_text(p);
    }
    return true;
}

error no_protocol() {
    return error(failed, string::literal("the name of a protocol has 1 to 255 bytes"));
}

class client_protector final : public protector {
public:
    client_protector(settings&& of, i64 patience_ns) noexcept
        : protector(patience_ns), of_(move(of)) {}
    layer* begin(const string& host) const override { return new tls_layer(of_.get(), true, host); }

private:
    settings of_;
};

class server_protector final : public protector {
public:
    server_protector(bytes protocols, i64 patience_ns) noexcept
        : protector(patience_ns), protocols_(move(protocols)) {}
    layer* begin(const string&) const override { return new tls_layer(all_[0].get(), false, {}); }

    void add(settings&& one) {
        SSL_CTX_set_tlsext_servername_callback(one.get(), choose);
        SSL_CTX_set_tlsext_servername_arg(one.get(), this);
        if (!protocols_.empty()) SSL_CTX_set_alpn_select_cb(one.get(), agree, this);
        all_.push(move(one));
    }

private:
    // Takes the first certificate that is for the name which the client has sent, else the first.
    static int choose(SSL* connection, int*, void* self) {
        const char* name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
        if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
        for (const settings& one : static_cast<server_protector*>(self)->all_) {
            X509* own = SSL_CTX_get0_certificate(one.get());
            if (X509_check_host(own, name, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, nullptr) != 1)
                continue;
            SSL_set_SSL_CTX(connection, one.get());
            break;
        }
        return SSL_TLSEXT_ERR_OK;
    }
    // The first of our protocols that the client knows. None: the alert no_application_protocol.
    static int agree(SSL*, const u8** chosen, u8* size, const u8* offered, unsigned offered_size,
                     void* self) {
        const bytes& own = static_cast<server_protector*>(self)->protocols_;
        u8* found = nullptr;
        int how = SSL_select_next_proto(&found, size, own.data(), static_cast<unsigned>(own.size()),
                                        offered, offered_size);
        *chosen = found;
        return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
    }

    bytes protocols_;
    vector<settings> all_;
};

// OpenSSL's own cleanup at the end of the process would run while workers still use it.
void prepare() { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr); }

error trust_system(settings& to) {
    const char* named = getenv(X509_get_default_cert_file_env()); // SSL_CERT_FILE
    if (named != nullptr && *named != 0) return to.trust(text_of(named));
    for (const char* file : root_files)
        if (access(file, R_OK) == 0) return to.trust(text_of(file));
    return error(bad_file,
                 string::literal("there is no file with the certificates that this system trusts"));
}

result<client_protection> make_client(const string& roots, const string& chain, const string& key,
                                      const vector<string>& protocols, bool verify,
                                      duration open_time) {
    prepare();
    settings s(true);
    if (!chain.empty())
        if (error e = s.use(chain, key); e.code() != 0) return e;
    if (verify) {
        error e = roots.empty() ? trust_system(s) : s.trust(roots);
        if (e.code() != 0) return e;
        SSL_CTX_set_verify(s.get(), SSL_VERIFY_PEER, tls_layer::verified);
    }
    bytes all;
    if (!pack(protocols, all)) return no_protocol();
    if (!all.empty() &&
        SSL_CTX_set_alpn_protos(s.get(), all.data(), static_cast<unsigned>(all.size())) != 0)
        die_out_of_memory();
    return client_protection(new client_protector(move(s), open_time));
}

// One pair after the other. With `clients` a client must have a certificate from one of these.
error add_pair(server_protector& to, const string& chain, const string& key,
               const string& clients) {
    settings s(false);
    if (error e = s.use(chain, key); e.code() != 0) return e;
    if (!clients.empty()) {
        if (error e = s.trust(clients); e.code() != 0) return e;
        SSL_CTX_set_client_CA_list(s.get(), SSL_load_client_CA_file(c_text(clients).get()));
        SSL_CTX_set_verify(s.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           tls_layer::verified);
        static constexpr u8 id[] = "eve"; // sessions of clients with certificates need one
        SSL_CTX_set_session_id_context(s.get(), id, sizeof id - 1);
    }
    to.add(move(s));
    return error();
}

} // namespace

async<result<server_protection>> server(const string& chain, const string& key, pairs more,
                                        vector<string> protocols, const string& clients,
                                        duration open_time) {
    return slow<result<server_protection>>([chain, key, more = move(more),
                                            protocols = move(protocols), clients,
                                            open_time]() -> result<server_protection> {
        prepare();
        bytes packed;
        if (!pack(protocols, packed)) return no_protocol();
        auto* all = new server_protector(move(packed), open_time);
        server_protection made(all);
        if (error e = add_pair(*all, chain, key, clients); e.code() != 0) return e;
        for (const auto& p : more)
            if (error e = add_pair(*all, get<0>(p), get<1>(p), clients); e.code() != 0) return e;
        return made;
    });
}

async<result<client_protection>> client(const string& roots, const string& chain, const string& key,
                                        vector<string> protocols, bool verify, duration open_time) {
    return slow<result<client_protection>>(
        [roots, chain, key, protocols = move(protocols), verify, open_time] {
            return make_client(roots, chain, key, protocols, verify, open_time);
        });
}

async<result<void>> make_self_signed(const string& chain, const string& key, vector<string> hosts,
                                     i64 days) {
    return slow<result<void>>([chain, key, hosts = move(hosts), days] {
        prepare();
        return write_self_signed(chain, key, hosts, days);
    });
}

namespace {

template <class F> string ask(const socket& s, F what) {
    string found;
    s.with_layer([&](layer& l) { found = what(static_cast<tls_layer&>(l).connection()); });
    return found;
}

} // namespace

string version(const socket& s) {
    return ask(s, [](SSL* c) { return text_of(SSL_get_version(c)); });
}

string cipher(const socket& s) {
    return ask(s, [](SSL* c) { return text_of(SSL_get_cipher_name(c)); });
}

string protocol(const socket& s) {
    return ask(s, [](SSL* c) {
        const u8* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(c, &name, &size);
        return string(reinterpret_cast<const char*>(name), size);
    });
}

string server_name(const socket& s) {
    return ask(s, [](SSL* c) { return text_of(SSL_get_servername(c, TLSEXT_NAMETYPE_host_name)); });
}

string peer(const socket& s) {
    return ask(s, [](SSL* c) {
        X509* own = SSL_get1_peer_certificate(c);
        string found = own != nullptr ? subject_of(own) : string();
        X509_free(own);
        return found;
    });
}

} // namespace eve::io::tls

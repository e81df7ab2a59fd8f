#include "tls.hpp"

#include "fail.hpp"
#include "format.hpp"
#include "slow.hpp"
#include "tls_certificate.hpp"
#include "tls_error.hpp"
#include "tls_layer.hpp"
#include "tls_server.hpp"

#include <openssl/ssl.h>
#include <stdlib.h>
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
        pairs files = pairs::of(tuple<string, string>(chain, key));
        for (const auto& p : more) files.push(p.copy());
        auto* all = new server_protector(move(files), clients, move(packed), open_time);
        server_protection made(all);
        if (error e = all->read(false); e.code() != 0) return e;
        return made;
    });
}

async<result<void>> reload(const server_protection& by) {
    return slow<result<void>>([by]() -> result<void> {
        auto* all = static_cast<const server_protector*>(by.get());
        if (all == nullptr)
            return error(failed, string::literal("there is no protection to reload"));
        if (error e = all->read(true); e.code() != 0) return e;
        return result<void>();
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

string protocol(const socket& s) { return s.protocol(); }

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

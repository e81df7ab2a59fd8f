#include "tls_certificate.hpp"

#include "tls_error.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eve::io::tls {

namespace {

constexpr i64 most_days = 3650;
constexpr i64 longest_common_name = 64; // RFC 5280, ub-common-name-length
constexpr long hour_s = 3600, day_s = 24 * hour_s;
constexpr int serial_bytes = 16; // at most 20, RFC 5280 section 4.1.2.2

bool is_host(const string& host) noexcept {
    for (i64 i = 0; i < host.size(); i++) {
        char c = host.data()[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '.' && c != '-' && c != '*' && c != ':' && c != '_') return false;
    }
    return !host.empty();
}

// A text that ends with a zero byte.
bytes c_text(const string& s) {
    bytes b = s.bytes();
    b.push(0);
    return b;
}

// "DNS:localhost,IP:127.0.0.1", x509v3_config(5).
bytes alternatives(const vector<string>& hosts) {
    string all;
    for (const string& h : hosts) {
        bytes name = c_text(h);
        auto* text = reinterpret_cast<const char*>(name.data());
        u8 ip[sizeof(in6_addr)];
        bool is_ip = inet_pton(AF_INET, text, ip) == 1 || inet_pton(AF_INET6, text, ip) == 1;
        if (!all.empty()) all = all + string::literal(",");
        all = all + (is_ip ? string::literal("IP:") : string::literal("DNS:")) + h;
    }
    return c_text(all);
}

bool extend(X509* to, int what, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, to, to, nullptr, nullptr, 0);
    X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &context, what, value);
    bool good = e != nullptr && X509_add_ext(to, e, -1) == 1;
    X509_EXTENSION_free(e);
    return good;
}

bool fill(X509* to, EVP_PKEY* key, const vector<string>& hosts, i64 days) {
    u8 serial[serial_bytes];
    if (RAND_bytes(serial, sizeof serial) != 1) return false;
    serial[0] &= 0x7f; // it is positive
    BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
    bool good = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(to));
    BN_free(number);
    X509_NAME* name = X509_get_subject_name(to);
    const string& first = hosts[0];
    int size =
        static_cast<int>(first.size() < longest_common_name ? first.size() : longest_common_name);
    return good && X509_set_version(to, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(to), -hour_s) && // clocks differ
           X509_gmtime_adj(X509_getm_notAfter(to), static_cast<long>(days) * day_s) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const u8*>(first.data()), size, -1,
                                      0) == 1 &&
           X509_set_issuer_name(to, name) == 1 && X509_set_pubkey(to, key) == 1 &&
           extend(to, NID_basic_constraints, "critical,CA:FALSE") &&
           extend(to, NID_key_usage, "critical,digitalSignature") &&
           extend(to, NID_ext_key_usage, "serverAuth,clientAuth") &&
           extend(to, NID_subject_alt_name,
                  reinterpret_cast<const char*>(alternatives(hosts).data())) &&
           X509_sign(to, key, EVP_sha256()) > 0;
}

// Replaces the file. Returns 0 or an errno.
template <class F> int write_file(const string& path, mode_t mode, F write) {
    if (memchr(path.data(), 0, static_cast<usize>(path.size())) != nullptr) return EINVAL;
    bytes name = c_text(path);
    auto* text = reinterpret_cast<const char*>(name.data());
    if (::unlink(text) != 0 && errno != ENOENT) return errno;
    int fd = ::open(text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) return errno;
    FILE* to = fdopen(fd, "w");
    if (to == nullptr) {
        int code = errno;
        ::close(fd);
        return code;
    }
    errno = 0;
    bool good = write(to) == 1;
    good = fclose(to) == 0 && good;
    return good ? 0 : errno != 0 ? errno : EIO;
}

error file_error(const string& path, int code) {
    return error(bad_file, path + string::literal(": ") + text_of(strerror(code)));
}

} // namespace

result<void> write_self_signed(const string& chain, const string& key, const vector<string>& hosts,
                               i64 days) {
    if (hosts.empty() || days < 1 || days > most_days)
        return error(failed, string::literal("a certificate is for a host, and 1 to 3650 days"));
    for (const string& h : hosts)
        if (!is_host(h)) return error(failed, h + string::literal(": this is no host"));
    struct parts {
        EVP_PKEY* key = EVP_EC_gen("P-256");
        X509* own = X509_new();
        ~parts() {
            EVP_PKEY_free(key);
            X509_free(own);
        }
    } p;
    ERR_clear_error();
    if (p.key == nullptr || p.own == nullptr || !fill(p.own, p.key, hosts, days))
        return error(failed, last_reason());
    auto put_key = [&](FILE* to) {
        return PEM_write_PrivateKey(to, p.key, nullptr, nullptr, 0, nullptr, nullptr);
    };
    if (int code = write_file(key, 0600, put_key); code != 0) return file_error(key, code);
    auto put_own = [&](FILE* to) { return PEM_write_X509(to, p.own); };
    if (int code = write_file(chain, 0644, put_own); code != 0) return file_error(chain, code);
    return {};
}

} // namespace eve::io::tls

#include "tls_error.hpp"

#include "format.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace eve::io::tls {

namespace {

constexpr int most_names = 8; // of a certificate, in a message

error fault(i64 code, formatter& f) { return error(code, f.take()); }

void put(formatter& f, const char* text) { f.text(text, static_cast<i64>(__builtin_strlen(text))); }

// A text of the peer, in which control characters are replaced.
void put_foreign(formatter& f, const unsigned char* text, int size) {
    for (int i = 0; i < size; i++) {
        bool control = text[i] < ' ' || text[i] == 0x7f;
        f.byte(control ? '?' : static_cast<char>(text[i]));
    }
}

void put_time(formatter& f, const ASN1_TIME* at) {
    BIO* out = BIO_new(BIO_s_mem());
    char* text = nullptr;
    if (out != nullptr && ASN1_TIME_print(out, at) == 1) {
        i64 size = BIO_get_mem_data(out, &text);
        f.text(text, size);
    }
    BIO_free(out);
}

// Control characters, and those beyond ASCII, are escaped.
string text_of(const X509_NAME* name) {
    string found;
    BIO* out = BIO_new(BIO_s_mem());
    char* text = nullptr;
    if (out != nullptr && X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) >= 0) {
        i64 size = BIO_get_mem_data(out, &text);
        found = string(text, size);
    }
    BIO_free(out);
    return found;
}

// The names of hosts that a certificate is for.
void put_names(formatter& f, X509* of) {
    auto* names =
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(of, NID_subject_alt_name, nullptr, nullptr));
    int shown = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && shown <= most_names; i++) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS) continue;
        if (shown > 0) put(f, ", ");
        if (shown == most_names) put(f, "...");
        else
            put_foreign(f, ASN1_STRING_get0_data(name->d.dNSName),
                        ASN1_STRING_length(name->d.dNSName));
        shown++;
    }
    if (shown == 0) put(f, "no name");
    GENERAL_NAMES_free(names);
}

bool is_over(const X509* own) { return X509_cmp_current_time(X509_get0_notAfter(own)) < 0; }
bool is_to_come(const X509* own) { return X509_cmp_current_time(X509_get0_notBefore(own)) > 0; }

error too_late(const X509* own) {
    formatter f;
    put(f, "the certificate has expired");
    if (own != nullptr && is_over(own)) {
        put(f, ": it was valid until ");
        put_time(f, X509_get0_notAfter(own));
    }
    return fault(expired, f);
}

error too_early(const X509* own) {
    formatter f;
    put(f, "the certificate is not valid yet");
    if (own != nullptr && is_to_come(own)) {
        put(f, ": it is from ");
        put_time(f, X509_get0_notBefore(own));
    }
    return fault(not_yet_valid, f);
}

// What is wrong with a certificate of the peer, or of an issuer that it has sent. `why` is a code
// of X509_verify_cert_error_string(3).
error distrust(X509* own, long why, const string& host) {
    formatter f;
    switch (why) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return too_late(own);
    case X509_V_ERR_CERT_NOT_YET_VALID: return too_early(own);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        put(f, "the certificate is not for ");
        f.put(host);
        if (own != nullptr && why == X509_V_ERR_HOSTNAME_MISMATCH) {
            put(f, ", but for ");
            put_names(f, own);
        }
        return fault(wrong_name, f);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        put(f, "the issuer of the certificate is not known here");
        if (own != nullptr) {
            put(f, ": ");
            f.put(issuer_of(own));
        }
        return fault(unknown_issuer, f);
    default:
        put(f, "the certificate is not trusted: ");
        put(f, X509_verify_cert_error_string(why));
        return fault(not_trusted, f);
    }
}

} // namespace

string subject_of(const x509_st* certificate) {
    return text_of(X509_get_subject_name(certificate));
}

string issuer_of(const x509_st* certificate) { return text_of(X509_get_issuer_name(certificate)); }

error untimely(const x509_st* certificate) {
    if (is_over(certificate)) return too_late(certificate);
    if (is_to_come(certificate)) return too_early(certificate);
    return error();
}

string last_reason() {
    unsigned long code = ERR_peek_error();
    const char* text = ERR_reason_error_string(code);
    string reason = text != nullptr ? text_of(text) : string::literal("unknown error");
    ERR_clear_error();
    return reason;
}

error reason_of(ssl_st* connection, const string& host, x509_st* blamed) {
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    string text = last_reason();
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return distrust(blamed, SSL_get_verify_result(connection), host);
    formatter f;
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
        put(f, "the peer has sent no certificate");
        return fault(no_certificate, f);
    }
    if (reason > SSL_AD_REASON_OFFSET) { // an alert of the peer, RFC 8446 section 6.2
        put(f, "the peer refuses: ");
        put(f, SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
        return fault(refused, f);
    }
    bool shaken = SSL_is_init_finished(connection) == 1;
    put(f, shaken ? "TLS has failed: " : "no handshake of TLS: ");
    f.put(text);
    return fault(shaken ? failed : no_tls, f);
}

} // namespace eve::io::tls

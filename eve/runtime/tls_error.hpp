#pragma once
// Errors of module io.tls.
#include "result.hpp"

struct ssl_st;
struct x509_st;

namespace eve::io::tls {

// As std/io/tls.eve declares them.
enum : i64 {
    timeout = 110,
    failed = 1000,
    expired = 1001,
    not_yet_valid = 1002,
    wrong_name = 1003,
    unknown_issuer = 1004,
    not_trusted = 1005,
    no_certificate = 1006,
    refused = 1007,
    no_tls = 1008,
    cut_off = 1009,
    truncated = 1010,
    bad_file = 1011,
};

// The reason why OpenSSL has failed on this thread just now, and the queue of its errors is empty.
// host is the name that a client has verified, and blamed the certificate that it does not trust;
// null if there is none.
error reason_of(ssl_st* connection, const string& host, x509_st* blamed);
// What the dates of a certificate say against it now; code 0: nothing.
error untimely(const x509_st* certificate);
// The subject of a certificate, or its issuer, as RFC 2253 writes it.
string subject_of(const x509_st* certificate);
string issuer_of(const x509_st* certificate);
// The text of that reason, for calls of OpenSSL that have no connection.
string last_reason();

inline string text_of(const char* text) {
    return text == nullptr ? string() : string(text, static_cast<i64>(__builtin_strlen(text)));
}

} // namespace eve::io::tls

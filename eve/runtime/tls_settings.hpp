#pragma once
// A context of OpenSSL: what one chain of certificates with its key, or a client, brings to each of
// its connections.
#include "result.hpp"

struct ssl_ctx_st;

namespace eve::io::tls {

// Made on a thread of the pool. Once it is complete, any thread may begin connections of it.
class settings {
public:
    explicit settings(bool client);
    settings(settings&& other) noexcept : of_(other.of_) { other.of_ = nullptr; }
    settings& operator=(settings&&) = delete;
    ~settings();

    ssl_ctx_st* get() const noexcept { return of_; }

    // The files are in PEM. An error has the name of the file, and code 0 says that there is none.
    error use(const string& chain, const string& key);
    error trust(const string& roots);
    // What the dates of the chain's own certificate say against it now.
    error untimely(const string& chain) const;
    // A client must have a certificate that one of this file has issued.
    error ask_clients(const string& issuers);

private:
    ssl_ctx_st* of_;
};

// OpenSSL's own cleanup at the end of the process would run while workers still use it. To be
// called before all else.
void prepare() noexcept;

} // namespace eve::io::tls

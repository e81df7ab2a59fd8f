#include "tls_server.hpp"

#include "tls_layer.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace eve::io::tls {

void certificates::complete() noexcept {
    for (settings& one : all_) {
        SSL_CTX_set_tlsext_servername_callback(one.get(), choose);
        SSL_CTX_set_tlsext_servername_arg(one.get(), this);
        if (!protocols_.empty()) SSL_CTX_set_alpn_select_cb(one.get(), agree, this);
    }
}

// Takes the first certificate that is for the name which the client has sent, else the first.
int certificates::choose(ssl_st* connection, int*, void* self) {
    const char* name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
    for (const settings& one : static_cast<certificates*>(self)->all_) {
        X509* own = SSL_CTX_get0_certificate(one.get());
        if (X509_check_host(own, name, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, nullptr) != 1)
            continue;
        SSL_set_SSL_CTX(connection, one.get());
        break;
    }
    return SSL_TLSEXT_ERR_OK;
}

// The first of our protocols that the client knows. None: the alert no_application_protocol.
int certificates::agree(ssl_st*, const u8** chosen, u8* size, const u8* offered,
                        unsigned offered_size, void* self) {
    const bytes& own = static_cast<certificates*>(self)->protocols_;
    u8* found = nullptr;
    int how = SSL_select_next_proto(&found, size, own.data(), static_cast<unsigned>(own.size()),
                                    offered, offered_size);
    *chosen = found;
    return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

layer* server_protector::begin(const string&) const {
    ref<certificates> now;
    {
        locked l(guard_);
        now = now_;
    }
    return new tls_layer(now->first().get(), false, {}, now);
}

error server_protector::read(bool valid) const {
    u64 number;
    {
        locked l(guard_);
        number = ++begun_;
    }
    auto fresh = make<certificates>(certificates(protocols_.copy()));
    for (const auto& pair : files_) {
        const string& chain = get<0>(pair);
        settings one(false);
        error e = one.use(chain, get<1>(pair));
        if (e.code() == 0 && valid) e = one.untimely(chain);
        if (e.code() == 0 && !clients_.empty()) e = one.ask_clients(clients_);
        if (e.code() != 0) return e;
        fresh->add(move(one));
    }
    fresh->complete();
    locked l(guard_);
    if (number < shown_) return error(); // a later call was faster
    shown_ = number;
    ref<certificates> old = move(now_);
    now_ = move(fresh);
    fresh = move(old); // they end when the guard is released
    return error();
}

} // namespace eve::io::tls

#include "lookup.hpp"

#include "address.hpp"
#include "loop.hpp"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

namespace eve {

lookup::lookup(const string& host, i64 port, channel& to) noexcept
    : host_(host), port_(port), to_(to) {}

lookup::~lookup() {
    if (found_ != nullptr) freeaddrinfo(found_);
}

bool lookup::abandon() noexcept {
    if (state_.exchange(abandoned, order::acq_rel) == ended) return false;
    change_forsaken(1);
    return true;
}

void lookup::block() noexcept {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
    bool valid = port_ >= 0 && port_ <= 65535 && !host_.empty() && host_.size() < NI_MAXHOST &&
                 !is_path(host_) &&
                 memchr(host_.data(), 0, static_cast<usize>(host_.size())) == nullptr;
    code_ = EAI_NONAME;
    if (valid && state_.load(order::acquire) == wanted) {
        char host[NI_MAXHOST] = "";
        char number[24] = "";
        memcpy(host, host_.data(), static_cast<usize>(host_.size()));
        snprintf(number, sizeof number, "%ld", port_);
        code_ = getaddrinfo(host, number, &hints, &found_);
    }
    if (state_.exchange(ended, order::acq_rel) == wanted) {
        to_.home->mail(to_, mail_done);
        return;
    }
    delete this;
    change_forsaken(-1);
}

} // namespace eve

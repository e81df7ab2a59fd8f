#include "address.hpp"

#include "format.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

namespace eve {

bool parse_address(const string& host, i64 port, address& to) noexcept {
    char text[64];
    if (port < 0 || port > 65535 || host.size() >= i64(sizeof text)) return false;
    memcpy(text, host.data(), static_cast<usize>(host.size()));
    text[host.size()] = '\0';
    memset(&to, 0, sizeof to);
    auto* four = reinterpret_cast<sockaddr_in*>(&to.what);
    auto* six = reinterpret_cast<sockaddr_in6*>(&to.what);
    const char* number = *text == '\0'                    ? "0.0.0.0"
                         : strcmp(text, "localhost") == 0 ? "127.0.0.1"
                                                          : text;
    if (inet_pton(AF_INET, number, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(static_cast<in_port_t>(port));
        to.size = sizeof *four;
        return true;
    }
    if (inet_pton(AF_INET6, number, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(static_cast<in_port_t>(port));
        to.size = sizeof *six;
        return true;
    }
    return false;
}

i64 port_of(const address& a) noexcept {
    if (a.what.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6*>(&a.what)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&a.what)->sin_port);
}

string text_of(const string& host, i64 port) {
    bool six = host.find_from(string::literal(":"), 0) >= 0;
    formatter f;
    if (six) f.byte('[');
    f.put(host);
    if (six) f.byte(']');
    f.byte(':');
    f.put(port);
    return f.take();
}

string text_of(const address& a) {
    char text[INET6_ADDRSTRLEN] = "";
    if (a.what.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&a.what)->sin6_addr, text,
                  sizeof text);
    else
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&a.what)->sin_addr, text,
                  sizeof text);
    return text_of(string(text, static_cast<i64>(strlen(text))), port_of(a));
}

string peer_text(int fd) {
    address a;
    a.size = sizeof a.what;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&a.what), &a.size) != 0) return string();
    return text_of(a);
}

} // namespace eve

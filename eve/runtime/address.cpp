#include "address.hpp"

#include "format.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr i64 prefix = 5; // bytes of "unix:"
constexpr usize before_path = offsetof(sockaddr_un, sun_path);

bool parse_path(const string& host, address& to) noexcept {
    auto* at = reinterpret_cast<sockaddr_un*>(&to.what);
    auto size = static_cast<usize>(host.size() - prefix);
    const char* path = host.data() + prefix;
    if (size >= sizeof at->sun_path || memchr(path, 0, size) != nullptr) return false;
    memset(&to, 0, sizeof to);
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path, path, size);
    to.size = static_cast<socklen_t>(before_path + size + 1);
    return true;
}

const char* path_of(const address& a) noexcept {
    return reinterpret_cast<const sockaddr_un*>(&a.what)->sun_path;
}

// Whether nobody listens on the socket any more.
bool is_abandoned(const address& a) noexcept {
    struct stat about;
    if (lstat(path_of(a), &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool refused = ::connect(fd, reinterpret_cast<const sockaddr*>(&a.what), a.size) != 0 &&
                   errno == ECONNREFUSED;
    ::close(fd);
    return refused;
}

} // namespace

bool is_path(const string& host) noexcept {
    return host.size() > prefix && memcmp(host.data(), "unix:", usize(prefix)) == 0;
}

bool is_unix(const address& a) noexcept { return a.what.ss_family == AF_UNIX; }

int bind_to(int fd, const address& a) noexcept {
    auto* at = reinterpret_cast<const sockaddr*>(&a.what);
    if (bind(fd, at, a.size) == 0) return 0;
    int code = errno;
    if (code != EADDRINUSE || !is_unix(a) || !is_abandoned(a)) return code;
    ::unlink(path_of(a));
    return bind(fd, at, a.size) == 0 ? 0 : errno;
}

u64 file_of(const address& a) noexcept {
    struct stat about;
    return is_unix(a) && lstat(path_of(a), &about) == 0 ? about.st_ino : 0;
}

void remove_file(const address& a, u64 number) noexcept {
    if (number != 0 && file_of(a) == number) ::unlink(path_of(a));
}

bool parse_address(const string& host, i64 port, address& to) noexcept {
    if (is_path(host)) return parse_path(host, to);
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
    if (is_unix(a)) return 0;
    if (a.what.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6*>(&a.what)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&a.what)->sin_port);
}

string text_of(const string& host, i64 port) {
    if (is_path(host)) return host;
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
    if (is_unix(a)) { // a client's socket has no path
        usize most = a.size > before_path ? a.size - before_path : 0;
        return string::literal("unix:") +
               string(path_of(a), static_cast<i64>(strnlen(path_of(a), most)));
    }
    return text_of(number_of(a), port_of(a));
}

string number_of(const address& a) {
    char text[INET6_ADDRSTRLEN] = "";
    if (a.what.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&a.what)->sin6_addr, text,
                  sizeof text);
    else
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&a.what)->sin_addr, text,
                  sizeof text);
    return string(text, static_cast<i64>(strlen(text)));
}

string peer_text(int fd) {
    address a;
    a.size = sizeof a.what;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&a.what), &a.size) != 0) return string();
    return text_of(a);
}

} // namespace eve

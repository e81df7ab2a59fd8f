#pragma once
// Internet addresses as text and as the kernel has them. Only for the files that call the kernel.
#include "string.hpp"

#include <sys/socket.h>

namespace eve {

struct address {
    sockaddr_storage what;
    socklen_t size;
};

// False if the host is no number ("127.0.0.1", "::1"), "localhost", or "" (all interfaces), or
// the port is none.
bool parse_address(const string& host, i64 port, address& to) noexcept;
// "127.0.0.1:8080", "[::1]:8080".
string text_of(const address& a);
string text_of(const string& host, i64 port);
i64 port_of(const address& a) noexcept;
// Of the other side of a connection; "" when there is none any more.
string peer_text(int fd);

} // namespace eve

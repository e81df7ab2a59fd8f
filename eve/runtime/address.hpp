#pragma once
// Internet addresses as text and in the kernel's form. Only for the files that make system calls.
#include "string.hpp"

#include <sys/socket.h>

namespace eve {

struct address {
    sockaddr_storage what;
    socklen_t size;
};

// False if the host is not a number ("127.0.0.1", "::1"), "localhost" or "" (all interfaces), or
// if the port is not valid.
bool parse_address(const string& host, i64 port, address& to) noexcept;
// Returns "127.0.0.1:8080" or "[::1]:8080".
string text_of(const address& a);
string text_of(const string& host, i64 port);
i64 port_of(const address& a) noexcept;
// Returns the address of the peer, or "" when the descriptor has no peer any more.
string peer_text(int fd);

} // namespace eve

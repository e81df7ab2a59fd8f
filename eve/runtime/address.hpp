#pragma once
// Addresses as text and in the kernel's form: those of the Internet, and "unix:/run/app.sock", a
// socket of the file system. Only for the files that make system calls.
#include "string.hpp"

#include <sys/socket.h>

namespace eve {

struct address {
    sockaddr_storage what;
    socklen_t size;
};

// Whether it names a Unix socket.
bool is_path(const string& host) noexcept;
bool is_unix(const address& a) noexcept;
// False if the host is neither a path behind "unix:" nor a number ("127.0.0.1", "::1"), "localhost"
// or "" (all interfaces), or if the port is not valid.
bool parse_address(const string& host, i64 port, address& to) noexcept;
// Returns "127.0.0.1:8080", "[::1]:8080" or "unix:/run/app.sock".
string text_of(const address& a);
string text_of(const string& host, i64 port);
// Returns "127.0.0.1" or "::1" of an Internet address.
string number_of(const address& a);
i64 port_of(const address& a) noexcept;
// Makes a socket have an address. The file of a Unix socket that nobody listens on is replaced.
// Returns 0 or an errno.
int bind_to(int fd, const address& a) noexcept;
// The number of the file of a Unix socket; 0 if it is not there. Removes the file if it has this
// number.
u64 file_of(const address& a) noexcept;
void remove_file(const address& a, u64 number) noexcept;
// Returns the address of the peer, or "" when the descriptor has no peer any more.
string peer_text(int fd);

} // namespace eve

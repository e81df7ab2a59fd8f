#pragma once
// Module io.tls: TLS 1.2 and 1.3 for sockets, by OpenSSL (std/io/tls.eve).
#include "async.hpp"
#include "socket.hpp"
#include "tuple.hpp"
#include "vector.hpp"

namespace eve::io::tls {

using pairs = vector<tuple<string, string>>;

async<result<server_protection>> server(const string& chain, const string& key, pairs more,
                                        vector<string> protocols, const string& clients,
                                        duration open_time);
async<result<void>> reload(const server_protection& by);
async<result<client_protection>> client(const string& roots, const string& chain, const string& key,
                                        vector<string> protocols, bool verify, duration open_time);

async<result<void>> make_self_signed(const string& chain, const string& key, vector<string> hosts,
                                     i64 days);

// Under read permission on the socket. Empty before the end of the handshake.
string version(const socket& s);
string cipher(const socket& s);
string protocol(const socket& s);
string server_name(const socket& s);
string peer(const socket& s);

} // namespace eve::io::tls

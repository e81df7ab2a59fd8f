#pragma once
// Module io.dns: questions to DNS servers, by c-ares (std/io/dns.eve).
#include "async.hpp"
#include "vector.hpp"

namespace eve::io::dns {

async<result<bytes>> ask(const string& name, i64 kind, vector<string> servers, duration wait);

} // namespace eve::io::dns

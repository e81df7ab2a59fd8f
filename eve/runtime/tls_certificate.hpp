#pragma once
// Certificates that nobody has issued, for tests and development.
#include "result.hpp"
#include "vector.hpp"

namespace eve::io::tls {

// Writes a certificate for hosts (names, or addresses) and its key to files in PEM. On a thread of
// the pool.
result<void> write_self_signed(const string& chain, const string& key, const vector<string>& hosts,
                               i64 days);

} // namespace eve::io::tls

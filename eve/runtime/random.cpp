#include "random.hpp"

#include <errno.h>
#include <sys/random.h>

namespace eve::random {

bytes secure_bytes(i64 n, const site* here) {
    bytes all = bytes::sized(n, here);
    i64 done = 0;
    while (done < n) {
        // It waits for the kernel's generator only in the first seconds after a boot.
        ssize_t got = getrandom(all.data() + done, static_cast<usize>(n - done), 0);
        if (got > 0) done += got;
        else if (errno != EINTR) fail(here, "the kernel gives no random bytes");
    }
    return all;
}

} // namespace eve::random

#include "time.hpp"

#include <ctime>

namespace eve::time {

duration local_offset(const instant& at) noexcept {
    // localtime_r need not read TZ (POSIX), tzset does; once, so that a program has one zone.
    static const bool zone_is_read = (tzset(), true);
    (void)zone_is_read;
    time_t seconds = at.unix_();
    tm there{};
    if (localtime_r(&seconds, &there) == nullptr) return 0;
    return i64(there.tm_gmtoff) * 1'000'000'000;
}

} // namespace eve::time

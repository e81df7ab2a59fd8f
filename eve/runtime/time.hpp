#pragma once
// Module time: the zone of the machine. Dates are written in Eve, in std/time.eve.
#include "instant.hpp"

namespace eve::time {

// Any thread. How far the zone of TZ, or of /etc/localtime, is ahead of UTC at the instant.
duration local_offset(const instant& at) noexcept;

} // namespace eve::time

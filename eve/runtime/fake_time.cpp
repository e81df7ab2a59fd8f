#include "fake_time.hpp"

#include "fail.hpp"

#include <string.h>

namespace eve {

constinit fake_clock the_fake_clock;

void refuse_in_fake_time(const char* what) noexcept {
    if (likely(!the_fake_clock.on())) return;
    char line[200] = "a test in fake time cannot have ";
    strncat(line, what, sizeof line - 128);
    strcat(line, ": the clock would not see what is on its way there");
    die(line);
}

void begin_fake_time() noexcept { the_fake_clock.turn(true); }

} // namespace eve

#include "console.hpp"

#include "runtime.hpp"

namespace eve {

ref<output> the_stdout = make<output>(output(1));
ref<output> the_stderr = make<output>(output(2, output::mode::lines));

namespace {

end_hook flushes{flush_outputs};

// Output that a program has written is out when the process ends, whatever the end is.
struct registration {
    registration() noexcept { at_end(&flushes); }
} registered;

} // namespace
} // namespace eve

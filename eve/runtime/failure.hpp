#pragma once
// failure: the exception that a trap, assert or fail throws. Whoever starts tasks catches it, adds
// where the task was started, and passes it on or reports it.
#include "result.hpp"

namespace eve {

class failure {
public:
    failure(const site* at, error what) noexcept;

    // "chat.eve:12: index 5 is out of range: there are 3 elements".
    string message() const;
    // The message, and a line for each task on the way up: "    in the task of chat.eve:9".
    string trace() const;
    // What the `error` event of an emitter carries: the text is the message.
    error as_error() const;
    const error& what() const noexcept { return what_; }
    // Adds where the task that failed was started.
    void passed(const site* started) noexcept;

private:
    static constexpr int longest = 8; // of the outer tasks only the innermost ones are kept
    error what_;
    site at_;
    site started_[longest];
    int steps_ = 0;
};

// Writes the trace to standard error in one piece.
void report(const failure& f) noexcept;
// The same for a contained failure that no handler is told of: it says that the program goes on.
void report_contained(const failure& f) noexcept;

// How many failures this thread is unwinding for.
int failures_under_way() noexcept;

} // namespace eve

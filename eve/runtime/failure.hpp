#pragma once
// failure: the exception of a trap, assert or fail. The code that starts tasks catches it, adds
// the place where the task was started, and passes it on or reports it.
#include "result.hpp"

namespace eve {

class failure {
public:
    failure(const site* at, error what) noexcept;

    // "chat.eve:12: index 5 is out of range: there are 3 elements".
    string message() const;
    // The message, and a line for each enclosing task: "    in the task of chat.eve:9".
    string trace() const;
    // The value of an emitter's `error` event: its text is the message.
    error as_error() const;
    const error& what() const noexcept { return what_; }
    // Adds the place where the failed task was started.
    void passed(const site* started) noexcept;

private:
    static constexpr int longest = 8; // only the innermost tasks are kept
    error what_;
    site at_;
    site started_[longest];
    int steps_ = 0;
};

// Writes the trace to standard error, in one write.
void report(const failure& f) noexcept;
// The same for a contained failure without a handler: it adds that the program goes on.
void report_contained(const failure& f) noexcept;

// The number of exceptions that this thread is unwinding for.
int failures_under_way() noexcept;

} // namespace eve

#pragma once
// How another program is started: for process.run and process.start. Only for threads of the pool,
// since it reads disks.
#include "vector.hpp"

#include <sys/types.h>

namespace eve {

// The end of a pipe, or another descriptor. Closes it, unless it is below 0, and makes it -1.
void close_end(int& fd) noexcept;
// Opens a pipe whose ends are above 2: those numbers are a child's. Returns 0 or an errno.
int open_pipe(int (&ends)[2]) noexcept;

// What is run. The first word is the name, which is looked for in PATH; `settings` are variables
// beside those of this program.
struct program {
    vector<string> words;
    string directory;
    vector<string> settings;

    string name() const { return words.empty() ? string() : words[0]; }
    // Starts it on these descriptors; one below 0 stands for that of this program. Returns 0, and
    // the child, or an errno.
    int spawn(int in, int out, int err, pid_t& child) const;

private:
    bool valid() const;
};

// What a shell says of the status that waitpid returned.
i64 shown_status(int status) noexcept;

} // namespace eve

#pragma once
// process.child: another program that runs beside this one, with pipes to it (std/process.eve).
#include "async.hpp"
#include "object.hpp"
#include "result.hpp"
#include "vector.hpp"

namespace eve {

class pollable;

class child {
public:
    // A program that was started, and its pipes. Shared with the loop that reaps it.
    struct life;

    child(life* of, pollable* in, pollable* out, pollable* err) noexcept
        : life_(of), pipes_{in, out, err} {}
    child(child&& fresh) noexcept;
    child& operator=(child&&) = delete;
    // Ends the program by SIGKILL, if it has not ended, and has it reaped.
    ~child();

    // Under read permission.
    i64 pid() const noexcept;
    // Under full permission.
    result<void> signal(i64 number);

    // Any thread.
    async<result<void>> write(bytes data);
    async<result<void>> close_input();
    async<result<bytes>> read(i64 most);
    async<result<bytes>> read_errors(i64 most);
    async<result<i64>> wait();

    // Any thread, for operations. `which` is 0 to 2, as the child numbers its descriptors; the
    // last may be null.
    pollable* pipe(int which) const noexcept { return pipes_[which]; }
    life& of() const noexcept { return *life_; }

private:
    life* life_;
    pollable* pipes_[3];
};

namespace process {

async<result<ref<child>>> start(vector<string> words, const string& directory,
                                vector<string> settings, bool errors);

} // namespace process

} // namespace eve

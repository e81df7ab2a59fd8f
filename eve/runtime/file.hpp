#pragma once
// An open file: fs.file of std/fs.eve. Its operations run one after the other, in the order in
// which they were begun. None of them makes a worker wait.
#include "async.hpp"
#include "file_info.hpp"
#include "lock.hpp"
#include "vector.hpp"

namespace eve::fs {

class file_turn;

class file {
public:
    // Takes over the descriptor.
    file(int fd, string path) noexcept;
    file(file&& fresh) noexcept;
    file& operator=(file&&) = delete;
    // Closes a file that the program has not closed. Errors are lost then.
    ~file();

    // Any thread, all methods.
    string path() const noexcept { return path_; }
    async<result<bytes>> read(i64 most);
    async<result<bytes>> read_at(i64 at, i64 most);
    async<result<void>> write(bytes data);
    async<result<void>> write_at(i64 at, bytes data);
    async<result<void>> truncate(i64 size);
    async<result<void>> sync();
    async<result<void>> lock(bool shared);
    async<result<void>> unlock();
    async<result<file_info>> info();
    async<result<void>> close();

private:
    friend class file_turn;
    // Returns whether it is the turn of the operation now. Otherwise mail_start tells it.
    bool enter(file_turn& t) noexcept;
    // The operation under way has ended.
    void leave() noexcept;

    string path_;
    spin_lock guard_;
    file_turn* first_ = nullptr; // the operation under way, and those that wait. Under the guard
    file_turn* last_ = nullptr;  // under the guard

public:
    // Of the operation under way.
    int fd;
    i64 position = 0;
};

// An error of the system: "read a.txt: No such file or directory", with the second half as its
// cause.
error file_error(const char* what, const string& path, int code);

} // namespace eve::fs

#include "dump.hpp"

#include "fail.hpp"
#include "recording.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eve {

bool dump_names::set(const char* path) noexcept {
    usize n = strlen(path);
    if (n >= sizeof whole) return false;
    memcpy(whole, path, n + 1);
    memcpy(part, path, n);
    memcpy(part + n, ".part", 6);
    return true;
}

dump::dump(const char* magic, const dump_names& names) noexcept
    : names_(names),
      fd_(::open(names.part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    if (fd_ < 0) error_ = errno;
    put(magic, 8);
}

dump::~dump() {
    if (fd_ >= 0) ::close(fd_);
}

void dump::flush() noexcept {
    usize at = 0;
    while (at < used_ && error_ == 0) {
        ssize_t n = ::write(fd_, buffer_ + at, used_ - at);
        if (n > 0) at += usize(n);
        else if (n == 0 || errno != EINTR) error_ = n == 0 ? EIO : errno;
    }
    used_ = 0;
}

void dump::put(const void* data, usize bytes) noexcept {
    auto* from = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
        usize n = sizeof buffer_ - used_ < bytes ? sizeof buffer_ - used_ : bytes;
        memcpy(buffer_ + used_, from, n);
        used_ += n;
        from += n;
        bytes -= n;
        if (used_ == sizeof buffer_) flush();
    }
}

void dump::section(const char* tag, u64 bytes) noexcept {
    char name[8] = {};
    memcpy(name, tag, strnlen(tag, sizeof name));
    put(name, sizeof name);
    put(bytes);
}

void dump::put_text(const char* text) noexcept {
    usize n = strlen(text);
    put(u64(n));
    put(text, n);
}

u64 dump::text_bytes(const char* text) noexcept { return 8 + strlen(text); }

void dump::put_program() noexcept {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    section("program", text_bytes(path));
    put_text(path);
}

void dump::put_code(const body_code* code) noexcept {
    const char* file = code->at ? code->at->file : "";
    section("code", 16 + text_bytes(code->name) + text_bytes(file));
    put(reinterpret_cast<u64>(code));
    put(u64(code->at ? code->at->line : 0));
    put_text(code->name);
    put_text(file);
}

bool dump::close(const char* what) noexcept {
    flush();
    if (fd_ >= 0 && ::close(fd_) != 0 && error_ == 0) error_ = errno;
    fd_ = -1;
    if (error_ == 0 && ::rename(names_.part, names_.whole) != 0) error_ = errno;
    if (error_ == 0) return true;
    ::unlink(names_.part);
    char line[sizeof names_.whole + 100];
    int n = snprintf(line, sizeof line, "eve: the %s %s cannot be written: %s\n", what,
                     names_.whole, strerror(error_));
    if (n > 0) (void)!::write(STDERR_FILENO, line, usize(n));
    return false;
}

} // namespace eve

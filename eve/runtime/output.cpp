// Writing to a descriptor, whole, whatever the kernel does with it.
#include "output.hpp"

#include "vector.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

namespace eve {

namespace {

// All outputs there are: stdout and stderr, and in tests others. Guarded by list_locked.
output* all_outputs = nullptr;
bool list_locked = false;

// Whether a buffer may hold something. Set after the buffer's lock is given back: whoever meets the lock taken can
// leave the buffer to the writer, who comes to flush_outputs himself when he runs out of work.
bool gathered = false;

void take_lock(bool& lock) noexcept {
    while (__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE)) sched_yield();
}
bool try_lock(bool& lock) noexcept { return !__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE); }
void give_lock(bool& lock) noexcept { __atomic_store_n(&lock, false, __ATOMIC_RELEASE); }

// Nobody reads any more: ends as a program does that does not know of SIGPIPE.
[[noreturn]] void end_quietly() noexcept {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &usual, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    raise(SIGPIPE);
    _exit(128 + SIGPIPE);
}

[[noreturn]] void end_for(int why, int fd) noexcept {
    if (why == EPIPE) end_quietly();
    char line[160] = "eve: cannot write to ";
    std::strcat(line, fd == STDOUT_FILENO ? "standard output: " : "standard error: ");
    std::strncat(line, strerrordesc_np(why) == nullptr ? "unknown error" : strerrordesc_np(why), 80);
    std::strcat(line, "\n");
    if (fd != STDERR_FILENO) write_whole(STDERR_FILENO, line, i64(std::strlen(line)));
    _exit(1);
}

} // namespace

int write_whole(int fd, const char* text, i64 size) noexcept {
    while (size > 0) {
        ssize_t n = ::write(fd, text, u64(size));
        if (n >= 0) {
            text += n;
            size -= n;
        } else if (errno == EAGAIN) {
            // Someone who shares the terminal made it non-blocking.
            pollfd wait{fd, POLLOUT, 0};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

output::output(int fd, mode how) noexcept : fd_(fd), mode_(how) {
    take_lock(list_locked);
    next_ = all_outputs;
    all_outputs = this;
    give_lock(list_locked);
}

output::~output() {
    flush();
    take_lock(list_locked);
    for (output** p = &all_outputs; *p != nullptr; p = &(*p)->next_) {
        if (*p == this) {
            *p = next_;
            break;
        }
    }
    give_lock(list_locked);
    buffer_free(buffer_);
}

void output::lock() noexcept { take_lock(locked_); }
void output::unlock() noexcept { give_lock(locked_); }

void output::find_mode() noexcept {
    if (fd_ == STDERR_FILENO) mode_ = mode::direct;
    else mode_ = isatty(fd_) ? mode::lines : mode::blocks;
}

void output::send(const char* text, i64 size) noexcept {
    int why = write_whole(fd_, text, size);
    if (why != 0) end_for(why, fd_);
}

void output::send_buffer() noexcept {
    i64 n = size_;
    size_ = 0;
    if (n > 0) send(buffer_, n);
}

void output::put(const char* text, i64 size) noexcept {
    if (size == 0) return;
    lock();
    if (mode_ == mode::found_out) find_mode();
    if (mode_ == mode::direct) {
        send(text, size);
        return unlock();
    }
    if (buffer_ == nullptr) buffer_ = static_cast<char*>(buffer_new(room, 1));
    if (size > room - size_) send_buffer();
    if (size >= room) {
        send(text, size);
    } else {
        std::memcpy(buffer_ + size_, text, u64(size));
        size_ += size;
        if (mode_ == mode::lines && std::memchr(text, '\n', u64(size)) != nullptr) send_buffer();
    }
    bool rest = size_ > 0;
    unlock();
    if (rest) __atomic_store_n(&gathered, true, __ATOMIC_RELEASE);
}

void output::write_buffer(const bytes& data) noexcept { put(reinterpret_cast<const char*>(data.data()), data.size()); }

void output::flush() noexcept {
    lock();
    send_buffer();
    unlock();
}

void flush_outputs() noexcept {
    if (!__atomic_load_n(&gathered, __ATOMIC_RELAXED)) return;
    (void)__atomic_exchange_n(&gathered, false, __ATOMIC_SEQ_CST);
    take_lock(list_locked);
    for (output* o = all_outputs; o != nullptr; o = o->next_) {
        if (!try_lock(o->locked_)) continue;
        o->send_buffer();
        o->unlock();
    }
    give_lock(list_locked);
}

} // namespace eve

// Writing all bytes to a descriptor, however the kernel splits the writes.
#include "output.hpp"

#include "vector.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace eve {

namespace {

// The list of all outputs: stdout and stderr, and others in tests. Guarded by list_locked.
output* all_outputs = nullptr;
bool list_locked = false;

// Whether a buffer may hold bytes. Set after the buffer's lock is released: a thread that finds
// the lock taken can leave the buffer to the writer, which calls flush_outputs when it runs out of
// work.
bool gathered = false;

bool hurried = false; // the end of the process waits for no reader any more

constexpr int lock_tries = 10000; // at the end, for a lock whose thread may be gone
constexpr int look_ms = 50;       // between two checks of `hurried`
constexpr i64 sure_bytes = 4096;  // PIPE_BUF: poll reports only this much space

void take_lock(bool& lock) noexcept {
    while (__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE)) sched_yield();
}
bool try_lock(bool& lock) noexcept { return !__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE); }
void give_lock(bool& lock) noexcept { __atomic_store_n(&lock, false, __ATOMIC_RELEASE); }

// The reader has gone: ends the process as SIGPIPE would.
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
    std::strncat(line, strerrordesc_np(why) == nullptr ? "unknown error" : strerrordesc_np(why),
                 80);
    std::strcat(line, "\n");
    if (fd != STDERR_FILENO) write_whole(STDERR_FILENO, line, i64(std::strlen(line)));
    _exit(1);
}

} // namespace

bool (*write_later)(output& o) noexcept = nullptr;

int write_whole(int fd, const char* text, i64 size) noexcept {
    while (size > 0) {
        ssize_t n = ::write(fd, text, u64(size));
        if (n >= 0) {
            text += n;
            size -= n;
        } else if (errno == EAGAIN) {
            // Another process that shares the terminal made it non-blocking.
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

// Writes the bytes that the kernel takes without blocking. Returns their number, or a negative
// errno. The descriptor is not made non-blocking, since other processes share it.
i64 output::give(const char* text, i64 size) noexcept {
    for (;;) {
        ssize_t n;
        if (way_ == way::at_once) {
            iovec part{const_cast<char*>(text), u64(size)};
            n = pwritev2(fd_, &part, 1, -1, RWF_NOWAIT);
            if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
                struct stat what;
                way_ = fstat(fd_, &what) == 0 && S_ISREG(what.st_mode) ? way::whole : way::asked;
                continue;
            }
        } else if (way_ == way::asked) {
            pollfd one{fd_, POLLOUT, 0};
            if (poll(&one, 1, 0) == 0) return 0;
            n = ::write(fd_, text, u64(size < sure_bytes ? size : sure_bytes));
        } else {
            n = ::write(fd_, text, u64(size));
        }
        if (n >= 0) return n;
        if (errno == EAGAIN) {
            if (way_ != way::whole) return 0;
            way_ = way::asked;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

// Under the lock.
void output::give_kept() noexcept {
    while (!kept_.empty()) {
        i64 n = give(reinterpret_cast<const char*>(kept_.data()), kept_.size());
        if (n < 0) end_for(int(-n), fd_);
        if (n == 0) return;
        kept_.consume(n);
    }
}

// Under the lock.
void output::send(const char* text, i64 size) noexcept {
    while (size > 0 && kept_.empty()) {
        i64 n = give(text, size);
        if (n < 0) end_for(int(-n), fd_);
        if (n == 0) break;
        text += n;
        size -= n;
    }
    kept_.append(text, size);
}

void output::wait_until(i64 kept) noexcept {
    for (;;) {
        lock();
        give_kept();
        bool enough = kept_.size() <= kept;
        unlock();
        if (enough) return;
        pollfd one{fd_, POLLOUT, 0};
        poll(&one, 1, -1);
    }
}

void output::write_on() noexcept {
    for (bool over = false; !over;) {
        wait_until(0);
        lock();
        over = kept_.empty();
        if (over) writer_assigned_ = false;
        unlock();
    }
}

// After a write, without the lock. Arranges for the bytes that the kernel did not take.
void output::arrange_rest() noexcept {
    lock();
    bool first = !kept_.empty() && !writer_assigned_, much = kept_.size() > most_kept;
    writer_assigned_ = writer_assigned_ || first;
    unlock();
    if (first && !(write_later != nullptr && write_later(*this))) write_on();
    else if (much) wait_until(most_kept / 2);
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
    if (mode_ == mode::direct || !kept_.empty()) {
        send(text, size);
        bool kept = !kept_.empty();
        unlock();
        if (kept) arrange_rest();
        return;
    }
    if (buffer_ == nullptr) buffer_ = static_cast<char*>(buffer_new(room, 1));
    if (size > room - size_) send_buffer();
    if (size >= room ||
        // while bytes are kept, nothing is gathered: it would be written too early
        !kept_.empty()) {
        send(text, size);
    } else {
        std::memcpy(buffer_ + size_, text, u64(size));
        size_ += size;
        if (mode_ == mode::lines && std::memchr(text, '\n', u64(size)) != nullptr) send_buffer();
    }
    bool rest = size_ > 0, kept = !kept_.empty();
    unlock();
    if (kept) arrange_rest();
    if (rest) __atomic_store_n(&gathered, true, __ATOMIC_RELEASE);
}

void output::write_buffer(const bytes& data) noexcept {
    put(reinterpret_cast<const char*>(data.data()), data.size());
}

void output::flush() noexcept {
    lock();
    send_buffer();
    bool kept = !kept_.empty();
    unlock();
    if (kept) arrange_rest();
}

void flush_outputs() noexcept {
    if (!__atomic_load_n(&gathered, __ATOMIC_RELAXED)) return;
    (void)__atomic_exchange_n(&gathered, false, __ATOMIC_SEQ_CST);
    output* kept[8];
    int n = 0;
    take_lock(list_locked);
    for (output* o = all_outputs; o != nullptr; o = o->next_) {
        if (!try_lock(o->locked_)) continue;
        o->send_buffer();
        if (!o->kept_.empty() && !o->writer_assigned_ && n < 8) kept[n++] = o;
        o->unlock();
    }
    give_lock(list_locked);
    for (int i = 0; i < n; i++) kept[i]->arrange_rest();
}

// False: `hurried` is set and the kernel takes no more.
bool output::finish(const char* text, i64 size) noexcept {
    while (size > 0) {
        i64 n = give(text, size);
        if (n < 0) end_for(int(-n), fd_);
        if (n == 0 && __atomic_load_n(&hurried, __ATOMIC_ACQUIRE)) return false;
        pollfd one{fd_, POLLOUT, 0};
        if (n == 0) poll(&one, 1, look_ms);
        text += n;
        size -= n;
    }
    return true;
}

// Under the lock. Uses no memory of malloc's, which may be what failed.
void output::finish() noexcept {
    i64 kept = kept_.size(), rest = size_;
    size_ = 0;
    if (finish(reinterpret_cast<const char*>(kept_.data()), kept)) finish(buffer_, rest);
    kept_.skip(kept);
}

void finish_outputs() noexcept {
    for (output* o = all_outputs; o != nullptr;
         o = o->next_) { // outputs are made and destroyed while the program begins and ends
        bool mine = try_lock(o->locked_);
        for (int i = 0; !mine && i < lock_tries; i++) {
            sched_yield();
            mine = try_lock(o->locked_);
        }
        if (!mine) continue;
        o->finish();
        o->unlock();
    }
}

void hurry_outputs() noexcept { __atomic_store_n(&hurried, true, __ATOMIC_RELEASE); }

} // namespace eve

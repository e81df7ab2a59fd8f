#include "file.hpp"

#include "loop.hpp"
#include "pool.hpp"
#include "worker.hpp"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eve::fs {

namespace {

// The most bytes of one call. A ring copies cached data on the worker, which a larger call would
// keep for long: about 0.1 ms at 10 GB/s.
constexpr i64 most_bytes = 1 << 20;

// A busy lock is tried again after these times: it has no event to wait for. Both are guesses.
constexpr i64 shortest_wait_ns = 1'000'000;
constexpr i64 longest_wait_ns = 32'000'000;

} // namespace

error file_error(const char* what, const string& path, int code) {
    const char* why = strerrordesc_np(code);
    error cause(code, string::literal(why != nullptr ? why : "Unknown error"));
    string text = string::literal(what) + string::literal(" ") + path + string::literal(": ");
    return error(code, text + cause.text(), cause);
}

// An operation on one file, from its begin to its answer. When it is its turn, it makes calls one
// after the other: in the ring of its loop, or all of them on one thread of the pool.
class file_turn : public channel, public file_request, public blocking_call {
public:
    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}

    void mailed(loop&, u32 what) override {
        if (what & mail_start) go();
        else over();
    }
    void finished(loop&, i64 result) override {
        if (result == -EAGAIN) run_blocking(*this); // a device that the ring cannot wait for
        else if (result == -EINTR || after(result)) make();
        else over();
    }

    file_turn* next_turn = nullptr; // under the guard of the file

protected:
    explicit file_turn(file& f) noexcept : channel(kind::other), of_(ref_of(f)) {}
    ~file_turn() = default;

    // Owner only, in a body or inside. Begins, when all operations before it have ended.
    void queue() noexcept {
        home = &this_loop();
        visit me(*home);
        queue_again();
    }
    // Inside only. The home stays, also for a guest: the deadline of the operation is there.
    void queue_again() noexcept {
        if (of_->enter(*this)) go();
    }
    // The turn ends. The file is the next operation's.
    void leave() noexcept { of_->leave(); }
    // Its turn: prepares the first call. False: there is none.
    virtual bool first() noexcept = 0;
    // Inside, or the thread of the pool. Takes the result of a call. True: it has prepared another.
    virtual bool after(i64 result) noexcept = 0;
    // Inside only. The last call has been made, and it is still its turn.
    virtual void over() = 0;

    ref<file> of_;
    int code_ = 0; // of the error; 0: none

private:
    void go() noexcept {
        call.fd = of_->fd;
        if (call.fd < 0) code_ = EBADF;
        if (code_ == 0 && first()) make();
        else over();
    }
    void make() noexcept {
        if (!home->submit(*this)) run_blocking(*this);
    }
    void block() noexcept override {
        while (after(perform(call))) {}
        home->mail(*this, mail_done);
    }
};

file::file(int of, string path) noexcept : path_(move(path)), fd(of) {}

// Moved only before it is shared.
file::file(file&& fresh) noexcept : path_(move(fresh.path_)), fd(fresh.fd) { fresh.fd = -1; }

file::~file() {
    if (fd >= 0) ::close(fd);
}

bool file::enter(file_turn& t) noexcept {
    locked l(guard_);
    t.next_turn = nullptr;
    if (first_ == nullptr) first_ = &t;
    else last_->next_turn = &t;
    last_ = &t;
    return first_ == &t;
}

void file::leave() noexcept {
    file_turn* next;
    {
        locked l(guard_);
        first_ = next = first_->next_turn;
        if (next != nullptr) next->home->mail(*next, mail_start);
    }
}

namespace {

// An operation whose answer is a T!. `what` is its name in errors.
template <class T> class file_operation : public operation_for<result<T>>, public file_turn {
public:
    void begin() override { this->queue(); }
    // A call under way cannot be stopped. Its result is dropped.
    void cancel() noexcept override {}

protected:
    file_operation(file& f, const char* what) noexcept : file_turn(f), what_(what) {}
    ~file_operation() = default;

    // The value, if there was no error.
    virtual result<T> good() noexcept = 0;
    void over() override {
        leave();
        if (code_ == 0) this->done(good());
        else this->done(result<T>(file_error(what_, of_->path(), code_)));
        this->drop();
    }

private:
    const char* what_;
};

class reading final : public file_operation<bytes> {
public:
    reading(file& f, bool positioned, i64 at, i64 most) noexcept
        : file_operation(f, "read"), positioned_(positioned) {
        call.at = at;
        call.size = most < most_bytes ? most : most_bytes;
        if (at < 0 || most < 1) code_ = EINVAL;
    }

private:
    bool first() noexcept override {
        if (!positioned_) call.at = of_->position;
        call.data = data_.room(call.size);
        return true;
    }
    bool after(i64 result) noexcept override {
        if (result < 0) code_ = static_cast<int>(-result);
        else data_.grown(result);
        if (!positioned_ && result > 0) of_->position += result;
        return false;
    }
    result<bytes> good() noexcept override { return move(data_); }
    void end() noexcept override { destroy(this); }

    bool positioned_;
    bytes data_;
};

class writing final : public file_operation<void> {
public:
    writing(file& f, bool positioned, i64 at, bytes data) noexcept
        : file_operation(f, "write"), positioned_(positioned), data_(move(data)) {
        call.what = file_call::op::write;
        call.at = at;
        if (at < 0) code_ = EINVAL;
    }

private:
    bool first() noexcept override {
        if (!positioned_) call.at = of_->position;
        return more();
    }
    bool after(i64 result) noexcept override {
        if (result <= 0) {
            code_ = result < 0 ? static_cast<int>(-result) : EIO;
            return false;
        }
        written_ += result;
        call.at += result;
        if (!positioned_) of_->position += result;
        return more();
    }
    bool more() noexcept {
        i64 left = data_.size() - written_;
        call.data = data_.data() + written_;
        call.size = left < most_bytes ? left : most_bytes;
        return left > 0;
    }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    bool positioned_;
    bytes data_;
    i64 written_ = 0;
};

// One call without an answer: sync, truncate, unlock, close.
class calling final : public file_operation<void> {
public:
    calling(file& f, const char* name, file_call::op what, i64 size = 0, int flags = 0) noexcept
        : file_operation(f, name) {
        call.what = what;
        call.size = size;
        call.flags = flags;
        if (size < 0) code_ = EINVAL;
    }

private:
    bool first() noexcept override {
        if (call.what == file_call::op::close) of_->fd = -1;
        return true;
    }
    bool after(i64 result) noexcept override {
        if (result < 0) code_ = static_cast<int>(-result);
        return false;
    }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }
};

// fstat does not wait for a disk: what it tells is in memory while the file is open.
class asking final : public file_operation<file_info> {
public:
    explicit asking(file& f) noexcept : file_operation(f, "info of") {}

private:
    bool first() noexcept override {
        struct stat about;
        if (fstat(call.fd, &about) != 0) code_ = errno;
        else info_ = file_info(about);
        return false;
    }
    bool after(i64) noexcept override { return false; }
    result<file_info> good() noexcept override { return info_; }
    void end() noexcept override { destroy(this); }

    file_info info_;
};

// flock, which does not wait here: a busy lock is tried again, and between two attempts other
// operations of the file have their turn.
class locking final : public file_operation<void>, clock_timer {
public:
    locking(file& f, bool shared) noexcept : file_operation(f, "lock") {
        call.what = file_call::op::lock;
        call.flags = (shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    }
    void cancel() noexcept override {
        unwanted_ = true;
        if (!waiting_) return;
        home->cancel(*this);
        the_fake_clock.count(-1);
        disarm();
        drop();
    }

private:
    bool first() noexcept override { return !unwanted_; }
    bool after(i64 result) noexcept override {
        busy_ = result == -EWOULDBLOCK;
        held_ = result == 0;
        if (result < 0) code_ = static_cast<int>(-result);
        return false;
    }
    void over() override {
        if (unwanted_ && held_) flock(call.fd, LOCK_UN); // nobody would know that it is held
        if (!busy_ || unwanted_) return file_operation::over();
        code_ = 0;
        leave();
        waiting_ = true;
        the_fake_clock.count(1);
        home->set(*this, program_ns() + wait_ns_);
        wait_ns_ = wait_ns_ < longest_wait_ns ? 2 * wait_ns_ : longest_wait_ns;
    }
    void expire(loop&, i64) override {
        waiting_ = false;
        the_fake_clock.count(-1);
        queue_again();
    }
    void dropped() noexcept override { drop(); }
    result<void> good() noexcept override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    bool busy_ = false;
    bool held_ = false;
    bool unwanted_ = false; // inside only
    bool waiting_ = false;  // for the timer. Inside only
    i64 wait_ns_ = shortest_wait_ns;
};

using op = file_call::op;
using nothing_or_error = async<result<void>>;

} // namespace

async<result<bytes>> file::read(i64 most) {
    return async<result<bytes>>(eve::create<reading>(*this, false, 0, most));
}

async<result<bytes>> file::read_at(i64 at, i64 most) {
    return async<result<bytes>>(eve::create<reading>(*this, true, at, most));
}

nothing_or_error file::write(bytes data) {
    return nothing_or_error(eve::create<writing>(*this, false, 0, move(data)));
}

nothing_or_error file::write_at(i64 at, bytes data) {
    return nothing_or_error(eve::create<writing>(*this, true, at, move(data)));
}

nothing_or_error file::truncate(i64 size) {
    return nothing_or_error(eve::create<calling>(*this, "truncate", op::truncate, size));
}

nothing_or_error file::sync() {
    return nothing_or_error(eve::create<calling>(*this, "sync", op::sync));
}

nothing_or_error file::lock(bool shared) {
    return nothing_or_error(eve::create<locking>(*this, shared));
}

nothing_or_error file::unlock() {
    return nothing_or_error(eve::create<calling>(*this, "unlock", op::lock, 0, LOCK_UN));
}

async<result<file_info>> file::info() {
    return async<result<file_info>>(eve::create<asking>(*this));
}

nothing_or_error file::close() {
    return nothing_or_error(eve::create<calling>(*this, "close", op::close));
}

} // namespace eve::fs

// process.start: another program, with pipes to it. A thread of the pool starts it. The loop of the
// worker that takes it over watches its pipes and its end. The loop reaps the child whether anybody
// waits for it or not.
#include "child.hpp"

#include "file.hpp"
#include "pollable.hpp"
#include "pool.hpp"
#include "runtime.hpp"
#include "spawning.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr i64 most_read = 1 << 16; // bytes of one read: a pipe of Linux holds as much
constexpr i64 most_written =
    1 << 18; // bytes of one attempt, so that others have their turn; a guess

} // namespace

// It is freed when its object has gone and the child was reaped. It waits in the line of its own
// pollable, from the start: as the first there it reaps the child.
struct child::life final : polled {
    pollable* over = nullptr; // readable when the child has ended
    string name;
    pid_t pid;
    int handle; // a descriptor of the child
    // Under the guard of `over`.
    bool ended = false; // it was reaped
    int code = 0;       // of the error of that
    i64 status = 0;
    bool finished = false; // it waits in the line no more
    bool orphan = false;   // its object has gone
    // Under the guard of all.
    life* next = nullptr;
    life* before = nullptr;

    life(string called, pid_t number, int of) noexcept
        : name(move(called)), pid(number), handle(of) {}

    // Under the guard of `over`. Reaps the child if it has ended.
    bool reap() noexcept {
        int how = 0;
        pid_t got = 0;
        if (!ended) {
            do got = waitpid(pid, &how, WNOHANG);
            while (got < 0 && errno == EINTR);
        }
        if (got == 0) return ended;
        ended = true;
        if (got < 0) code = errno;
        else status = shown_status(how);
        return true;
    }
    // Never of another process: the handle is of the child, not of its number.
    int send(int number) noexcept {
        return syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) == 0 ? 0 : errno;
    }

    bool attempt(int) noexcept override { return reap(); }
    void refuse(int) noexcept override {}
    void finish() override {
        bool last;
        {
            locked l(over->guard);
            finished = true;
            last = orphan;
        }
        if (!last) return;
        end();
        disarm();
    }
    void end() noexcept {
        leave();
        over->forsake(); // closes the handle
        destroy(this);
    }

    void enter() noexcept;
    void leave() noexcept;
    // At the end of the process.
    static void kill_all() noexcept;
};

namespace {

spin_lock all_guard;
child::life* newest;
bool hooked;

} // namespace

void child::life::enter() noexcept {
    static end_hook at_the_end{kill_all, nullptr};
    bool first;
    {
        locked l(all_guard);
        next = newest;
        if (newest != nullptr) newest->before = this;
        newest = this;
        first = !hooked;
        hooked = true;
    }
    if (first) at_end(&at_the_end);
}

void child::life::leave() noexcept {
    locked l(all_guard);
    (before == nullptr ? newest : before->next) = next;
    if (next != nullptr) next->before = before;
}

void child::life::kill_all() noexcept {
    locked l(all_guard);
    for (life* c = newest; c != nullptr; c = c->next) c->send(SIGKILL);
}

child::child(child&& fresh) noexcept
    : life_(fresh.life_), pipes_{fresh.pipes_[0], fresh.pipes_[1], fresh.pipes_[2]} {
    fresh.life_ = nullptr;
}

child::~child() {
    if (life_ == nullptr) return;
    for (pollable* p : pipes_)
        if (p != nullptr) p->forsake();
    if (self() == nullptr) { // an object of a module outlives the loops
        life_->send(SIGKILL);
        while (!life_->ended && waitpid(life_->pid, nullptr, 0) < 0 && errno == EINTR) {}
        life_->end();
        return;
    }
    bool reaped;
    {
        locked l(life_->over->guard);
        life_->orphan = true;
        reaped = life_->finished;
        if (!reaped) {
            arm(); // the end of the process waits for that of the child
            life_->send(SIGKILL);
        }
    }
    if (reaped) life_->end();
}

i64 child::pid() const noexcept { return life_->pid; }

result<void> child::signal(i64 number) {
    int code = number < 0 || number > SIGRTMAX ? EINVAL : life_->send(static_cast<int>(number));
    if (code == 0) return result<void>();
    return result<void>(fs::file_error("signal", life_->name, code));
}

namespace {

// An operation on a pipe of a child, or on its end.
template <class T> class child_operation : public polling<T> {
protected:
    child_operation(child& of, pollable& on, const char* what) noexcept
        : of_(ref_of(of)), on_(on), what_(what) {}
    ~child_operation() = default;

    pollable& core() noexcept override { return on_; }
    error why(int code) override { return fs::file_error(what_, of_->of().name, code); }

    ref<child> of_;
    pollable& on_;
    const char* what_;
};

class child_reading final : public child_operation<bytes> {
public:
    child_reading(child& of, pollable& pipe, i64 most) noexcept
        : child_operation(of, pipe, "read from"), most_(most < most_read ? most : most_read) {}

    void begin() override {
        if (most_ >= 1) return on_.begin(*this, io_in);
        refuse(EINVAL);
        finish();
    }
    bool attempt(int fd) noexcept override {
        bytes room;
        i64 n;
        do n = ::read(fd, room.room(most_), static_cast<usize>(most_));
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno == EAGAIN) return false;
        if (n < 0) code_ = errno;
        if (n > 0) { // no more memory than it has bytes
            memcpy(data_.room(n), room.data(), static_cast<usize>(n));
            data_.grown(n);
        }
        return true;
    }

private:
    result<bytes> good() override { return move(data_); }
    void end() noexcept override { destroy(this); }

    i64 most_;
    bytes data_;
};

class child_writing final : public child_operation<void> {
public:
    child_writing(child& of, bytes data) noexcept
        : child_operation(of, *of.pipe(0), "write to"), data_(move(data)) {}

    void begin() override { on_.begin(*this, io_out); }
    bool attempt(int fd) noexcept override {
        for (i64 until = written_ + most_written; written_ < data_.size();) {
            if (written_ >= until) return false; // the loop comes again
            i64 left = data_.size() - written_;
            i64 n = ::write(fd, data_.data() + written_, static_cast<usize>(left));
            if (n >= 0) written_ += n;
            else if (errno == EAGAIN) return false;
            else if (errno != EINTR) {
                code_ = errno;
                return true;
            }
        }
        return true;
    }

private:
    result<void> good() override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    bytes data_;
    i64 written_ = 0;
};

// Waits for the writes before it, then for the end of the descriptor.
class child_input_closing final : public child_operation<void> {
public:
    explicit child_input_closing(child& of) noexcept
        : child_operation(of, *of.pipe(0), "close the input of") {}

    void begin() override { on_.begin(*this, io_out); }
    bool attempt(int) noexcept override { return true; }
    void refuse(int) noexcept override {} // it is closed already
    void finish() override {
        if (closed_) return child_operation::finish();
        closed_ = true;
        on_.close(this);
    }

private:
    result<void> good() override { return result<void>(); }
    void end() noexcept override { destroy(this); }

    bool closed_ = false;
};

class child_waiting final : public child_operation<i64> {
public:
    explicit child_waiting(child& of) noexcept : child_operation(of, *of.of().over, "wait for") {}

    void begin() override { on_.begin(*this, io_in); }
    bool attempt(int) noexcept override {
        if (!of_->of().reap()) return false;
        code_ = of_->of().code;
        status_ = of_->of().status;
        return true;
    }

private:
    result<i64> good() override { return status_; }
    void end() noexcept override { destroy(this); }

    i64 status_ = 0;
};

using started = result<ref<child>>;

class starting final : public operation_for<started>, blocking_call {
public:
    starting(vector<string> words, const string& directory, vector<string> settings,
             bool errors) noexcept
        : what_{move(words), directory, move(settings)}, errors_(errors) {}

    void begin() override { run_blocking(*this); }
    // The program that was started is ended when nobody takes it.
    void cancel() noexcept override {}

private:
    void block() noexcept override {
        code_ = start();
        spawn([this](worker*, frame*) {
            this->done(this->take());
            this->drop();
        });
    }
    void end() noexcept override { destroy(this); }
    int start() noexcept;
    started take();

    program what_;
    bool errors_; // its standard error is a pipe, too
    int code_ = 0;
    pid_t child_ = 0;
    int handle_ = -1;
    int ours_[3] = {-1, -1, -1};
};

// Returns 0 or an errno.
int starting::start() noexcept {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int theirs[3] = {-1, -1, -1};
    int code = 0;
    for (int i = 0; i < (errors_ ? 3 : 2) && code == 0; i++) {
        code = open_pipe(pipes[i]);
        ours_[i] = pipes[i][i == 0 ? 1 : 0];
        theirs[i] = pipes[i][i == 0 ? 0 : 1];
        if (code == 0 && fcntl(ours_[i], F_SETFL, O_NONBLOCK) != 0) code = errno;
    }
    if (code == 0) code = what_.spawn(theirs[0], theirs[1], theirs[2], child_);
    for (int& fd : theirs) close_end(fd);
    if (code == 0) {
        handle_ = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
        if (handle_ < 0) {
            code = errno;
            ::kill(child_, SIGKILL);
            while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
        }
    }
    if (code != 0)
        for (int& fd : ours_) close_end(fd);
    return code;
}

// On a worker: its loop watches the child.
started starting::take() {
    if (code_ != 0) return fs::file_error("start", what_.name(), code_);
    auto watch = [](int fd) { return fd < 0 ? nullptr : create<pollable>(fd, false); };
    auto* of = create<child::life>(what_.name(), child_, handle_);
    of->over = watch(handle_);
    of->enter();
    auto c = make<child>(child(of, watch(ours_[0]), watch(ours_[1]), watch(ours_[2])));
    of->over->belong_to(c.object());
    for (int i = 0; i < 3; i++)
        if (c->pipe(i) != nullptr) c->pipe(i)->belong_to(c.object());
    of->over->begin(*of, io_in);
    return c;
}

// An operation that has no pipe.
class refused_reading final : public operation_for<result<bytes>> {
public:
    explicit refused_reading(error why) noexcept : why_(move(why)) {}
    void begin() override {
        done(result<bytes>(why_));
        drop();
    }
    void cancel() noexcept override {}
    void end() noexcept override { destroy(this); }

private:
    error why_;
};

} // namespace

async<result<void>> child::write(bytes data) {
    return async<result<void>>(create<child_writing>(*this, move(data)));
}

async<result<void>> child::close_input() {
    return async<result<void>>(create<child_input_closing>(*this));
}

async<result<bytes>> child::read(i64 most) {
    return async<result<bytes>>(create<child_reading>(*this, *pipes_[1], most));
}

async<result<bytes>> child::read_errors(i64 most) {
    if (pipes_[2] == nullptr)
        return async<result<bytes>>(
            create<refused_reading>(fs::file_error("read errors of", life_->name, EBADF)));
    return async<result<bytes>>(create<child_reading>(*this, *pipes_[2], most));
}

async<result<i64>> child::wait() { return async<result<i64>>(create<child_waiting>(*this)); }

namespace process {

async<result<ref<child>>> start(vector<string> words, const string& directory,
                                vector<string> settings, bool errors) {
    return async<started>(create<starting>(move(words), directory, move(settings), errors));
}

} // namespace process

} // namespace eve

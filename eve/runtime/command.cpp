// process.run: another program, from its start to its end. A thread of the pool starts it, gives it
// its input, collects what it says, and waits for it.
#include "async.hpp"
#include "file.hpp"
#include "interruption.hpp"
#include "pool.hpp"
#include "process.hpp"
#include "spawning.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace eve {

namespace {

using outcome = result<finished>;

constexpr i64 part_bytes = 1 << 16; // a pipe of Linux holds as much

string text_of(const bytes& b) { return string(reinterpret_cast<const char*>(b.data()), b.size()); }

class running final : public operation_for<outcome>, blocking_call {
public:
    running(vector<string> words, const string& input, const string& directory,
            vector<string> settings, i64 most)
        : what_{move(words), directory, move(settings)}, input_(input), most_(most) {}

    void begin() override { run_blocking(*this); }
    void cancel() noexcept override { unwanted_.set(); }

private:
    void block() noexcept override {
        value_ = option<outcome>(run());
        int* all[] = {&pid_, &in_, &out_, &err_};
        for (int* fd : all) close_end(*fd);
        spawn([this](worker*, frame*) {
            this->done(value_.take());
            this->drop();
        });
    }
    void end() noexcept override { destroy(this); }

    outcome run();
    int start();
    int talk();
    void give() noexcept;
    int take(int& from, bytes& into);

    program what_;
    string input_;
    i64 most_;
    i64 given_ = 0; // bytes of the input
    bytes output_;
    bytes errors_;
    pid_t child_ = 0;
    int pid_ = -1; // a descriptor of the child, that is readable when it has ended
    int in_ = -1;
    int out_ = -1;
    int err_ = -1;
    interruption unwanted_;
    option<outcome> value_;
    pool_room room_; // a program may take long: others still find a thread
};

outcome running::run() {
    string name = what_.name();
    int code = unwanted_.is_set() ? ECANCELED : start();
    if (code != 0) return fs::file_error("run", name, code);
    code = talk();
    if (code != 0) ::kill(child_, SIGKILL);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) {
        if (errno != EINTR) return fs::file_error("run", name, errno);
    }
    if (code != 0) return fs::file_error("run", name, code);
    return finished(shown_status(status), text_of(output_), text_of(errors_));
}

// Returns 0 or an errno, as the functions below.
int running::start() {
    if (unwanted_.fd() < 0) return EMFILE;
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int code = 0;
    for (auto& p : pipes)
        if (code == 0) code = open_pipe(p);
    in_ = pipes[0][1];
    out_ = pipes[1][0];
    err_ = pipes[2][0];
    int ours[] = {in_, out_, err_};
    for (int fd : ours)
        if (code == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0) code = errno;
    if (code == 0) code = what_.spawn(pipes[0][0], pipes[1][1], pipes[2][1], child_);
    close_end(pipes[0][0]);
    close_end(pipes[1][1]);
    close_end(pipes[2][1]);
    if (code == 0) pid_ = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
    return code;
}

// Until the child has ended, and what it has written is read. Programs that it has left behind may
// hold the pipes for longer.
int running::talk() {
    give();
    while (pid_ >= 0 || out_ >= 0 || err_ >= 0) {
        pollfd all[] = {{unwanted_.fd(), POLLIN, 0},
                        {pid_, POLLIN, 0},
                        {in_, POLLOUT, 0},
                        {out_, POLLIN, 0},
                        {err_, POLLIN, 0}};
        if (poll(all, 5, -1) < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (unwanted_.is_set()) return ECANCELED;
        bool ended = all[1].revents != 0;
        if (all[2].revents != 0) give();
        if (int code = take(out_, output_)) return code;
        if (int code = take(err_, errors_)) return code;
        if (ended) return 0;
    }
    return 0;
}

// What the child does not read is dropped.
void running::give() noexcept {
    while (in_ >= 0 && given_ < input_.size()) {
        i64 n = ::write(in_, input_.data() + given_, static_cast<usize>(input_.size() - given_));
        if (n >= 0) given_ += n;
        else if (errno == EAGAIN) return;
        else if (errno != EINTR) break;
    }
    close_end(in_);
}

int running::take(int& from, bytes& into) {
    while (from >= 0) {
        i64 n = ::read(from, into.room(part_bytes), part_bytes);
        if (n > 0) into.grown(n);
        else if (n == 0) close_end(from);
        else if (errno == EAGAIN) return 0;
        else if (errno != EINTR) return errno;
        if (into.size() > most_) return EFBIG;
    }
    return 0;
}

} // namespace

namespace process {

async<result<finished>> run(vector<string> words, const string& input, const string& directory,
                            vector<string> settings, i64 most) {
    return async<result<finished>>(
        create<running>(move(words), input, directory, move(settings), most));
}

} // namespace process

} // namespace eve

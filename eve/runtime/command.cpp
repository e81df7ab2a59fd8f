// process.run: another program, from its start to its end. A thread of the pool starts it, gives it
// its input, collects what it says, and waits for it.
#include "async.hpp"
#include "c_path.hpp"
#include "file.hpp"
#include "pool.hpp"
#include "process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace eve {

namespace {

using outcome = result<finished>;

constexpr i64 part_bytes = 1 << 16; // a pipe of Linux holds as much
constexpr i64 of_signal = 128;      // what a shell adds to the number of a signal

string text_of(const bytes& b) { return string(reinterpret_cast<const char*>(b.data()), b.size()); }

bool has_zero(const string& s) noexcept {
    return memchr(s.data(), 0, static_cast<usize>(s.size())) != nullptr;
}

// Texts as exec wants them: a list that ends with a null pointer.
class c_list {
public:
    explicit c_list(i64 most)
        : all_(static_cast<char**>(buffer_new(most + 1, sizeof(char*)))), size_(0) {
        all_[0] = nullptr;
    }
    c_list(const c_list&) = delete;
    c_list& operator=(const c_list&) = delete;
    ~c_list() {
        for (i64 i = 0; i < size_; i++) buffer_free(all_[i]);
        buffer_free(all_);
    }

    void add(const char* from, i64 size) {
        auto* text = static_cast<char*>(buffer_new(size + 1, 1));
        memcpy(text, from, static_cast<usize>(size));
        text[size] = '\0';
        all_[size_++] = text;
        all_[size_] = nullptr;
    }
    char** data() const noexcept { return all_; }

private:
    char** all_;
    i64 size_;
};

// The number of bytes of a variable's name in "NAME=value"; 0 if it has none.
i64 name_size(const char* text, i64 size) noexcept {
    auto* end = static_cast<const char*>(memchr(text, '=', static_cast<usize>(size)));
    return end == nullptr ? 0 : end - text;
}

// The three descriptors of a child are 0 to 2: copies to there must not meet its pipes.
int above_standard(int fd) noexcept {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    ::close(fd);
    return higher;
}

// Returns 0 or an errno.
int open_pipe(int (&ends)[2]) noexcept {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    for (int& end : ends) end = above_standard(end);
    return ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
}

void close_end(int& fd) noexcept {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

class running final : public operation_for<outcome>, blocking_call {
public:
    running(vector<string> words, const string& input, const string& directory,
            vector<string> settings, i64 most)
        : words_(move(words)), input_(input), directory_(directory), settings_(move(settings)),
          most_(most), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~running() { close_end(wake_); }

    void begin() override { run_blocking(*this); }
    void cancel() noexcept override {
        unwanted_.store(1, order::release);
        u64 one = 1;
        (void)!::write(wake_, &one, sizeof one);
    }

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
    int spawn_child(int in, int out, int err);
    bool valid() const;
    int talk();
    void give() noexcept;
    int take(int& from, bytes& into);

    vector<string> words_;
    string input_;
    string directory_;
    vector<string> settings_;
    i64 most_;
    i64 given_ = 0; // bytes of the input
    bytes output_;
    bytes errors_;
    pid_t child_ = 0;
    int wake_;
    int pid_ = -1; // a descriptor of the child, that is readable when it has ended
    int in_ = -1;
    int out_ = -1;
    int err_ = -1;
    atomic<u32> unwanted_;
    option<outcome> value_;
    pool_room room_; // a program may take long: others still find a thread
};

outcome running::run() {
    string name = words_.empty() ? string() : words_[0];
    int code = unwanted_.load(order::acquire) != 0 ? ECANCELED : start();
    if (code != 0) return fs::file_error("run", name, code);
    code = talk();
    if (code != 0) ::kill(child_, SIGKILL);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) {
        if (errno != EINTR) return fs::file_error("run", name, errno);
    }
    if (code != 0) return fs::file_error("run", name, code);
    i64 shown = WIFSIGNALED(status) ? of_signal + WTERMSIG(status) : WEXITSTATUS(status);
    return finished(shown, text_of(output_), text_of(errors_));
}

bool running::valid() const {
    for (const string& w : words_)
        if (has_zero(w)) return false;
    for (const string& s : settings_)
        if (has_zero(s) || name_size(s.data(), s.size()) == 0) return false;
    return !words_.empty() && !words_[0].empty() && !has_zero(directory_);
}

// Returns 0 or an errno, as the functions below.
int running::start() {
    if (!valid()) return EINVAL;
    if (wake_ < 0) return EMFILE;
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
    if (code == 0) code = spawn_child(pipes[0][0], pipes[1][1], pipes[2][1]);
    close_end(pipes[0][0]);
    close_end(pipes[1][1]);
    close_end(pipes[2][1]);
    if (code == 0) pid_ = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
    return code;
}

// The threads of the pool block all signals, and the program may ignore some. The child does
// neither.
int running::spawn_child(int in, int out, int err) {
    c_list words(words_.size());
    for (const string& w : words_) words.add(w.data(), w.size());
    i64 count = 0;
    while (environ[count] != nullptr) count++;
    c_list settings(count + settings_.size());
    auto is_set = [&](const char* text, i64 size, i64 from) {
        i64 name = name_size(text, size);
        for (i64 i = from; i < settings_.size(); i++) {
            const string& s = settings_[i];
            if (name_size(s.data(), s.size()) == name &&
                memcmp(s.data(), text, static_cast<usize>(name)) == 0)
                return true;
        }
        return false;
    };
    for (i64 i = 0; i < count; i++) {
        auto size = static_cast<i64>(strlen(environ[i]));
        if (!is_set(environ[i], size, 0)) settings.add(environ[i], size);
    }
    for (i64 i = 0; i < settings_.size(); i++) { // of two for one name the last one counts
        const string& s = settings_[i];
        if (!is_set(s.data(), s.size(), i + 1)) settings.add(s.data(), s.size());
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none_at_all, all;
    sigemptyset(&none_at_all);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&how, &none_at_all);
    posix_spawnattr_setsigdefault(&how, &all);
    c_path directory(directory_);
    int code = 0;
    if (!directory_.empty())
        code = posix_spawn_file_actions_addchdir_np(&actions, directory.text());
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, err, 2);
    if (code == 0)
        code =
            posix_spawnp(&child_, words.data()[0], &actions, &how, words.data(), settings.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return code;
}

// Until the child has ended, and what it has written is read. Programs that it has left behind may
// hold the pipes for longer.
int running::talk() {
    give();
    while (pid_ >= 0 || out_ >= 0 || err_ >= 0) {
        pollfd all[] = {{wake_, POLLIN, 0},
                        {pid_, POLLIN, 0},
                        {in_, POLLOUT, 0},
                        {out_, POLLIN, 0},
                        {err_, POLLIN, 0}};
        if (poll(all, 5, -1) < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (unwanted_.load(order::acquire) != 0) return ECANCELED;
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

#include "spawning.hpp"

#include "c_path.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr i64 of_signal = 128; // what a shell adds to the number of a signal

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

// The variables of this program, and of `more` the last one of each name.
void add_settings(c_list& all, const vector<string>& more, i64 own) {
    auto is_set = [&](const char* text, i64 size, i64 from) {
        i64 name = name_size(text, size);
        for (i64 i = from; i < more.size(); i++) {
            const string& s = more[i];
            if (name_size(s.data(), s.size()) == name &&
                memcmp(s.data(), text, static_cast<usize>(name)) == 0)
                return true;
        }
        return false;
    };
    for (i64 i = 0; i < own; i++) {
        auto size = static_cast<i64>(strlen(environ[i]));
        if (!is_set(environ[i], size, 0)) all.add(environ[i], size);
    }
    for (i64 i = 0; i < more.size(); i++) {
        const string& s = more[i];
        if (!is_set(s.data(), s.size(), i + 1)) all.add(s.data(), s.size());
    }
}

} // namespace

void close_end(int& fd) noexcept {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

int open_pipe(int (&ends)[2]) noexcept {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    for (int& end : ends) end = above_standard(end);
    return ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
}

i64 shown_status(int status) noexcept {
    return WIFSIGNALED(status) ? of_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

bool program::valid() const {
    for (const string& w : words)
        if (has_zero(w)) return false;
    for (const string& s : settings)
        if (has_zero(s) || name_size(s.data(), s.size()) == 0) return false;
    return !words.empty() && !words[0].empty() && !has_zero(directory);
}

// The threads of the pool block all signals, and the program may ignore some. The child does
// neither.
int program::spawn(int in, int out, int err, pid_t& child) const {
    if (!valid()) return EINVAL;
    c_list list(words.size());
    for (const string& w : words) list.add(w.data(), w.size());
    i64 own = 0;
    while (environ[own] != nullptr) own++;
    c_list variables(own + settings.size());
    add_settings(variables, settings, own);

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
    c_path folder(directory);
    int code = 0;
    if (!directory.empty()) code = posix_spawn_file_actions_addchdir_np(&actions, folder.text());
    int ends[] = {in, out, err};
    for (int i = 0; i < 3; i++)
        if (code == 0 && ends[i] >= 0)
            code = posix_spawn_file_actions_adddup2(&actions, ends[i], i);
    if (code == 0)
        code = posix_spawnp(&child, list.data()[0], &actions, &how, list.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return code;
}

} // namespace eve

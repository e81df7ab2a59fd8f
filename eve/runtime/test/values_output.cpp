// Outputs to files, pipes, a full disk and a reader that has gone. The cases that end the process
// run in a child process.
#include "../output.hpp"

#include "../vector.hpp"
#include "values_check.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace eve;

namespace {

struct pipe_ends {
    int from = -1, to = -1;
    pipe_ends() {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        from = ends[0];
        to = ends[1];
    }
    // All bytes that are there now.
    std::string waiting() const {
        std::string all;
        pollfd p{from, POLLIN, 0};
        while (poll(&p, 1, 0) > 0 && (p.revents & POLLIN) != 0) {
            char part[4096];
            ssize_t n = read(from, part, sizeof part);
            if (n <= 0) break;
            all.append(part, std::size_t(n));
        }
        return all;
    }
    ~pipe_ends() {
        close(from);
        close(to);
    }
};

void check_modes() {
    pipe_ends p;
    {
        output o(p.to);
        o.write(text("one\n"));
        expect(p.waiting().empty(), "a pipe gets nothing before the buffer is full");
        flush_outputs();
        expect(p.waiting() == "one\n", "flush_outputs");
        o.write(text("two"));
        formatter f;
        f.put(i64(3));
        o.write(f);
        o.write_buffer(text("four").bytes());
    }
    expect(p.waiting() == "two3four", "the end of an output flushes it");
    output lines(p.to, output::mode::lines);
    lines.write(text("half a"));
    expect(p.waiting().empty(), "no line yet");
    lines.write(text(" line\nand"));
    expect(p.waiting() == "half a line\nand", "a line goes out");
    output direct(p.to, output::mode::direct);
    direct.write(text("x"));
    expect(p.waiting() == "x", "direct");
}

// More than the pipe holds, to a slow reader, while signals interrupt the writes.
void check_long() {
    pipe_ends p;
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    sigaction(SIGUSR1, &nothing, nullptr);
    std::string sent;
    for (int i = 0; i < 60000; ++i) sent += std::to_string(i) + " ";
    pthread_t writer = pthread_self();
    std::string got;
    std::thread reader([&] {
        char part[30000];
        while (got.size() < sent.size()) {
            pthread_kill(writer, SIGUSR1);
            ssize_t n = read(p.from, part, sizeof part);
            if (n > 0) got.append(part, std::size_t(n));
        }
    });
    fcntl(p.to, F_SETFL, O_NONBLOCK);
    output o(p.to);
    for (std::size_t at = 0; at < sent.size();) {
        std::size_t n = std::min<std::size_t>(at % 40000 + 1, sent.size() - at);
        o.put(sent.data() + at, i64(n));
        at += n;
    }
    o.flush();
    reader.join();
    expect(got == sent, "everything arrives in order");
}

void check_flush_from_outside() {
    pipe_ends p;
    output o(p.to);
    bool done = false;
    std::thread flusher([&] {
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) flush_outputs();
    });
    for (int i = 0; i < 1000; ++i) o.write(text("0123456789\n"));
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    flusher.join();
    o.flush();
    std::string all = p.waiting();
    expect(all.size() == 11000 && all.substr(10989) == "0123456789\n",
           "writes and flushes do not mix");
}

// Runs work in a child process and captures its standard error. Returns its wait status.
template <class Work> int in_child(Work work, std::string& errors) {
    pipe_ends p;
    pid_t child = fork();
    if (child == 0) {
        dup2(p.to, STDERR_FILENO);
        work();
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    errors = p.waiting();
    return status;
}

void check_ends() {
    std::string errors;
    int status = in_child(
        [] {
            signal(SIGPIPE, SIG_IGN);
            pipe_ends p;
            close(p.from);
            output o(p.to);
            o.write(text("nobody reads this"));
            o.flush();
        },
        errors);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && errors.empty(),
           "EPIPE ends quietly, as cat does");
    status = in_child(
        [] {
            int full = open("/dev/full", O_WRONLY);
            dup2(full, STDOUT_FILENO);
            output o(STDOUT_FILENO);
            o.write(text("this does not fit"));
            o.flush();
        },
        errors);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a full disk is an error");
    expect(errors == "eve: cannot write to standard output: No space left on device\n",
           "and says so");
    status = in_child([] { buffer_new(largest<i64>, 8); }, errors);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 1 && errors == "eve: out of memory\n",
           "no memory ends with one line");
    status = in_child(
        [] {
            vector<i64> v;
            v.reserve(i64(1) << 60);
        },
        errors);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 1 && errors == "eve: out of memory\n",
           "a size that overflows");
    status = in_child([] { eve::report(failure(&here, error(1, text("broken")))); }, errors);
    expect(status == 0 && errors == "test.eve:7: broken\n", "report");
}

} // namespace

int main() {
    check_ends(); // before there are threads
    check_modes();
    check_long();
    check_flush_from_outside();
    return finish();
}

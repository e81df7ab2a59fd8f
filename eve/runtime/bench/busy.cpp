// How long clients wait for their replies while the handler of another one computes: an echo
// server on two workers, and a process of clients beside it. One client has its handler compute
// 80 ms, again and again; each of the others sends a message every 10 ms. Another one connects
// every 10 ms. Printed are the times from when a request was due to its reply, and from when a
// connect was due to the first reply; first with nobody who computes, for comparison.
// busy [seconds]
#include "../loop.hpp"
#include "../process.hpp"
#include "../runtime.hpp"
#include "../socket.hpp"
#include "../timer.hpp"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace eve;

namespace {

constexpr i64 compute_ns = 80'000'000, every_ns = 10'000'000, begin_at_once = 1;
constexpr int most_clients = 150, most_times = 1 << 18;
i64 seconds_each = 3;
int ready[2]; // a pipe: the server tells its port

// The server. A message that begins with '!' is answered after 80 ms of work.

struct on_data {
    void operator()(worker*, frame*, ref<eve::socket>& client, data&) {
        bytes text = client->read_buffer();
        if (text.size() > 0 && text.data()[0] == '!')
            for (i64 until = monotonic_ns() + compute_ns; monotonic_ns() < until;) {}
        client->write_buffer(text);
    }
};

struct on_connection {
    bool operator()(worker*, frame*, ref<tcp_socket>&, connection& c) {
        on<data>(c.call(), on_data{}, hold::write, true);
        return true;
    }
};

struct on_listening {
    void operator()(worker*, frame*, ref<tcp_socket>&, listening& l) {
        (void)!write(ready[1], &l.port, sizeof l.port);
    }
};

struct on_terminate {
    void operator()(worker*, frame*, ref<signal_source>&, terminate&) { process::shutdown(0); }
};

int serve(int argc, char** argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("EVE_WORKERS", "2", 1);
    return run(argc, argv, [](worker*, frame*) {
        ref<tcp_socket> server = tcp_socket::listen(0);
        on<connection>(server, on_connection{}, hold::write, true);
        on<listening>(server, on_listening{}, hold::null, true);
        on<terminate>(process::the_signals, on_terminate{}, hold::null, false);
    });
}

// The clients, all in one thread.

[[noreturn]] void fail_here(const char* what) {
    fprintf(stderr, "busy: %s: %s\n", what, strerror(errno));
    exit(1);
}

int connect_to(u16 port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
        fail_here("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void send_to(int fd, const char* text) {
    if (::send(fd, text, 16, MSG_NOSIGNAL) != 16) fail_here("send");
}

struct times {
    const char* of;
    int count = 0;
    i64 us[most_times];
    void add(i64 ns) {
        if (count < most_times) us[count++] = ns / 1000;
    }
    i64 part(int of_thousand) const {
        return count > 0 ? us[i64(count - 1) * of_thousand / 1000] : 0;
    }
    void print() {
        qsort(us, usize(count), sizeof *us, [](const void* a, const void* b) {
            i64 x = *static_cast<const i64*>(a), y = *static_cast<const i64*>(b);
            return x < y ? -1 : x > y ? 1 : 0;
        });
        printf("  %-8s %7d  p50 %6ld us  p95 %6ld us  p99 %6ld us  max %6ld us\n", of, count,
               part(500), part(950), part(990), part(1000));
    }
};

struct client {
    int fd = -1;
    i64 due_ns = 0;   // its next request
    i64 since_ns = 0; // when the request under way was due; 0: there is none
    bool computes = false, fresh = false;
};

void read_reply(client& c, i64 now_ns, times& replies, times& connects, int& computed) {
    char text[64];
    if (recv(c.fd, text, sizeof text, 0) != 16) fail_here("recv"); // a short reply is whole here
    if (c.computes) computed++;
    else (c.fresh ? connects : replies).add(now_ns - c.since_ns);
    c.since_ns = 0;
    if (!c.fresh) return;
    ::close(c.fd);
    c.fd = -1;
}

// Sends what is due. Returns when the next request is.
i64 send_due(client* all, pollfd* waits, int n, u16 port, bool busy) {
    i64 now_ns = monotonic_ns(), next_ns = now_ns + every_ns;
    for (int i = 0; i < n; i++) {
        client& c = all[i];
        bool idle = c.since_ns == 0 && (busy || !c.computes);
        if (idle && c.due_ns <= now_ns) {
            if (c.fresh) c.fd = connect_to(port);
            send_to(c.fd, c.computes ? "!computes.......\n" : "0123456789abcdef");
            c.since_ns = c.due_ns;
            c.due_ns = c.computes ? begin_at_once : c.due_ns + every_ns;
        } else if (idle && c.due_ns < next_ns) {
            next_ns = c.due_ns;
        }
        waits[i] = pollfd{c.since_ns != 0 ? c.fd : -1, POLLIN, 0};
    }
    return next_ns;
}

void measure(u16 port, int others, bool busy) {
    static times replies{"replies"}, connects{"connects"};
    static client all[most_clients + 2];
    static pollfd waits[most_clients + 2];
    replies.count = connects.count = 0;
    int n = others + 2, computed = 0;
    i64 begin_ns = monotonic_ns();
    for (int i = 0; i < n; i++) {
        all[i] = client{};
        all[i].due_ns = begin_ns + every_ns * i / n; // not all at once
        all[i].fresh = i == n - 1;
        all[i].computes = i == n - 2;
        if (!all[i].fresh) all[i].fd = connect_to(port);
    }
    for (i64 now_ns = begin_ns; now_ns < begin_ns + seconds_each * 1'000'000'000;) {
        i64 left_ns = send_due(all, waits, n, port, busy) - monotonic_ns();
        timespec limit{.tv_sec = 0, .tv_nsec = left_ns > 0 ? left_ns : 0};
        ppoll(waits, nfds_t(n), &limit, nullptr);
        now_ns = monotonic_ns();
        for (int i = 0; i < n; i++)
            if (waits[i].revents != 0) read_reply(all[i], now_ns, replies, connects, computed);
    }
    for (int i = 0; i < n; i++)
        if (all[i].fd >= 0) ::close(all[i].fd);
    printf("%d clients, %s", others, busy ? "and one whose handler computes 80 ms" : "alone");
    if (busy) printf(" (%d times)", computed);
    printf("\n");
    replies.print();
    connects.print();
    fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) seconds_each = atol(argv[1]);
    if (pipe(ready) != 0) fail_here("pipe");
    fflush(stdout);
    pid_t server = fork();
    if (server < 0) fail_here("fork");
    if (server == 0) return serve(argc, argv);
    i64 port = 0;
    ::close(ready[1]);
    if (read(ready[0], &port, sizeof port) != ssize_t(sizeof port))
        fail_here("the server does not start");
    const int counts[] = {20, most_clients};
    for (int others : counts) {
        measure(u16(port), others, false);
        measure(u16(port), others, true);
    }
    kill(server, SIGTERM);
    int status = 0;
    waitpid(server, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// c-ares makes the questions, and matches replies with them by their number, port and name. A
// thread of the pool waits for the servers. What a reply says is read by Eve text.
#include "dns.hpp"

#include "c_path.hpp"
#include "interruption.hpp"
#include "pool.hpp"
#include "timer_heap.hpp"

#include <ares.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace eve::io::dns {

namespace {

using outcome = result<bytes>;

constexpr int rounds = 2;             // each server is asked so often
constexpr i64 least_share_ms = 50;    // of the time, for one question; a guess
constexpr i64 most_wait_ms = 600'000; // c-ares counts milliseconds in an int
constexpr int most_payload = 1232;    // of a reply over UDP: DNS flag day 2020
constexpr int most_kind = 65535;
constexpr int class_internet = 1;  // RFC 1035, section 3.2.4
constexpr int most_servers = 8;    // a guess; resolv.conf has 3 at most
constexpr i64 longest_text = 1024; // of a name, with its escapes

pthread_once_t once = PTHREAD_ONCE_INIT;
int opened = ARES_SUCCESS;

error dns_error(const string& name, i64 code, const char* why) {
    error cause(code, string::literal(why));
    return error(code, name + string::literal(": ") + cause.text(), cause);
}

class asking final : public operation_for<outcome>, blocking_call {
public:
    asking(const string& name, i64 kind, vector<string> servers, duration wait) noexcept
        : name_(name), kind_(kind), servers_(move(servers)), wait_ms_(wait / 1'000'000) {
        if (wait_ms_ > most_wait_ms) wait_ms_ = most_wait_ms;
    }

    void begin() override { run_blocking(*this); }
    void cancel() noexcept override { unwanted_.set(); }

private:
    void block() noexcept override {
        value_ = option<outcome>(run());
        spawn([this](worker*, frame*) {
            this->done(value_.take());
            this->drop();
        });
    }
    void end() noexcept override { destroy(this); }
    outcome run();
    int find_servers(string& bad);
    void ask_server(const ares_addr_port_node& server, i64 share_ms);
    void wait_for(ares_channel channel);
    outcome told() const;
    static void answered(void* to, int status, int timeouts, unsigned char* data, int size);
    // Whether another server need not be asked: the reply says what is so, or the name is none.
    bool settled() const noexcept {
        return status_ == ARES_SUCCESS || status_ == ARES_ENODATA || status_ == ARES_ENOTFOUND ||
               status_ == ARES_EBADNAME;
    }

    string name_;
    i64 kind_;
    vector<string> servers_;
    i64 wait_ms_;
    i64 until_ns_ = 0;
    interruption unwanted_;
    option<outcome> value_;
    ares_addr_port_node found_[most_servers]; // to be asked
    int count_ = 0;
    bool over_ = false; // the question under way
    int status_ = ARES_ETIMEOUT;
    bytes reply_; // the last one that came
    pool_room room_;
};

// Called by c-ares, on the thread of the pool.
void asking::answered(void* to, int status, int, unsigned char* data, int size) {
    auto& a = *static_cast<asking*>(to);
    a.over_ = true;
    a.status_ = status;
    if (data == nullptr || size <= 0) return;
    bytes copy;
    memcpy(copy.room(size), data, static_cast<usize>(size));
    copy.grown(size);
    a.reply_ = move(copy);
}

// Opens a channel whose questions take so long. Returns a status of c-ares.
int open_channel(ares_channel& channel, i64 share_ms) {
    pthread_once(&once, [] { opened = ares_library_init(ARES_LIB_INIT_ALL); });
    ares_options how{};
    char dns_only[] = "b";
    how.flags = ARES_FLAG_EDNS | ARES_FLAG_NOCHECKRESP | ARES_FLAG_NOSEARCH;
    how.ednspsz = most_payload;
    how.tries = 1;
    how.timeout = static_cast<int>(share_ms);
    how.lookups = dns_only;
    if (opened != ARES_SUCCESS) return opened;
    return ares_init_options(&channel, &how,
                             ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_TRIES |
                                 ARES_OPT_TIMEOUTMS | ARES_OPT_LOOKUPS);
}

outcome asking::run() {
    c_path name(name_);
    if (!name.valid() || name_.empty() || name_.size() > longest_text || kind_ < 1 ||
        kind_ > most_kind)
        return dns_error(name_, EINVAL, "this is no name, or no kind of record");
    if (unwanted_.fd() < 0) return dns_error(name_, EMFILE, "out of descriptors");
    string bad;
    status_ = find_servers(bad);
    if (!bad.empty()) return dns_error(bad, EINVAL, "this is no address of a server");
    if (status_ != ARES_SUCCESS) return told();
    until_ns_ = monotonic_ns() + wait_ms_ * 1'000'000;
    i64 share_ms = count_ > 0 ? wait_ms_ / (rounds * count_) : 0;
    if (share_ms < least_share_ms) share_ms = least_share_ms;
    status_ = ARES_ETIMEOUT;
    for (int i = 0; i < rounds * count_ && !settled() && !unwanted_.is_set(); i++) {
        if (monotonic_ns() >= until_ns_) break;
        ask_server(found_[i % count_], share_ms);
    }
    return told();
}

// The servers of the program, or those that c-ares reads from the system's file. Returns a status
// of c-ares; `bad` becomes a server that is no address.
int asking::find_servers(string& bad) {
    ares_channel channel;
    if (int status = open_channel(channel, 1); status != ARES_SUCCESS) return status;
    i64 turns = servers_.empty() ? 1 : servers_.size();
    int status = ARES_SUCCESS;
    for (i64 i = 0; i < turns && bad.empty() && status == ARES_SUCCESS; i++) {
        if (!servers_.empty()) {
            c_path text(servers_[i]);
            bool one = text.valid() && servers_[i].find_from(string::literal(","), 0) < 0;
            if (!one || servers_[i].empty() ||
                ares_set_servers_ports_csv(channel, text.text()) != ARES_SUCCESS)
                bad = servers_[i].empty() ? string::literal("\"\"") : servers_[i];
        }
        ares_addr_port_node* all = nullptr;
        if (bad.empty()) status = ares_get_servers_ports(channel, &all);
        for (auto* n = all; n != nullptr && count_ < most_servers; n = n->next) {
            found_[count_] = *n;
            found_[count_++].next = nullptr;
        }
        ares_free_data(all);
    }
    ares_destroy(channel);
    return status;
}

void asking::ask_server(const ares_addr_port_node& server, i64 share_ms) {
    ares_channel channel;
    ares_addr_port_node copy = server;
    status_ = open_channel(channel, share_ms);
    if (status_ != ARES_SUCCESS) return;
    status_ = ares_set_servers_ports(channel, &copy);
    if (status_ == ARES_SUCCESS) {
        over_ = false;
        c_path name(name_);
        ares_query(channel, name.text(), class_internet, static_cast<int>(kind_), answered, this);
        wait_for(channel);
    }
    ares_destroy(channel); // which answers a question under way
}

void asking::wait_for(ares_channel channel) {
    while (!over_ && !unwanted_.is_set()) {
        ares_socket_t all[ARES_GETSOCK_MAXNUM];
        int bits = ares_getsock(channel, all, ARES_GETSOCK_MAXNUM);
        pollfd fds[ARES_GETSOCK_MAXNUM + 1] = {{unwanted_.fd(), POLLIN, 0}};
        nfds_t n = 1;
        for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
            int events = (ARES_GETSOCK_READABLE(bits, i) ? POLLIN : 0) |
                         (ARES_GETSOCK_WRITABLE(bits, i) ? POLLOUT : 0);
            if (events != 0) fds[n++] = {all[i], static_cast<short>(events), 0};
        }
        i64 left_ms = (until_ns_ - monotonic_ns() + 999'999) / 1'000'000;
        if (left_ms <= 0) return;
        timeval most{left_ms / 1000, left_ms % 1000 * 1000}, own;
        timeval* limit = ares_timeout(channel, &most, &own);
        i64 wait_ms = limit->tv_sec * 1000 + (limit->tv_usec + 999) / 1000;
        if (poll(fds, n, static_cast<int>(wait_ms)) < 0 && errno != EINTR) return;
        ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); // what is late
        for (nfds_t i = 1; i < n && !over_; i++) {
            int fd = fds[i].fd;
            short events = fds[i].revents;
            ares_process_fd(channel, (events & ~POLLOUT) != 0 ? fd : ARES_SOCKET_BAD,
                            (events & POLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
        }
    }
}

// The reply, or what has kept it away.
outcome asking::told() const {
    if (!reply_.empty()) return reply_.copy();
    switch (status_) {
    case ARES_EBADNAME: return dns_error(name_, EINVAL, "this is no name");
    case ARES_ETIMEOUT:
    case ARES_EDESTRUCTION: return dns_error(name_, ETIMEDOUT, "no server answers");
    case ARES_ECONNREFUSED: return dns_error(name_, EHOSTUNREACH, "no server can be reached");
    default: return dns_error(name_, EIO, ares_strerror(status_));
    }
}

} // namespace

async<result<bytes>> ask(const string& name, i64 kind, vector<string> servers, duration wait) {
    return async<result<bytes>>(create<asking>(name, kind, move(servers), wait));
}

} // namespace eve::io::dns

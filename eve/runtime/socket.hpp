#pragma once
// Stream sockets over TCP, and listeners for them: std/io/socket.eve.
//
// A socket's descriptor belongs to one loop; tasks that hold the socket's permission may write from
// any worker. What both touch is under the channel's guard. Input is read only while no handler of
// the socket is under way; output is gathered and sent once at the end of a batch of events. A peer
// that does not read what it is sent is not read either.
#include "async.hpp"
#include "buffer.hpp"
#include "emitter.hpp"
#include "loop.hpp"
#include "result.hpp"
#include "vector.hpp"

namespace eve {

class formatter;
class tcp_socket;

struct data {};
struct drained {};
struct overflow {};
struct close {};
struct line {
    string text;
};
struct listening {
    i64 port;
};

// Why the kernel does not do something.
error error_of(int code);

class socket final : public emitter_base, public channel, public stoppable {
public:
    // Of a connected descriptor; `from` is null if it was not accepted.
    socket(int connected, loop& home, ref<tcp_socket> from) noexcept;
    socket(socket&& fresh) noexcept;
    ~socket();

    // Under read permission.
    i64 pending() const noexcept;
    string address() const;
    // Under full permission.
    bytes read_buffer();
    void write_buffer(const bytes& what) noexcept { append(what.data(), what.size()); }
    void write(const string& text) noexcept { append(text.data(), text.size()); }
    void write(const formatter& text) noexcept;
    void close() noexcept;
    void close_write() noexcept;
    void limit(i64 size) noexcept;

    // Worker threads only. Sends what waits.
    void flush() noexcept;
    socket* next_unflushed = nullptr;
    // The loop of the socket only. Gives away what waits, to be sent at once; false: there is
    // nothing, or not now. Then exactly one call of sent() says how many bytes the kernel took, or
    // minus an errno.
    bool lend_output(byte_queue& to) noexcept;
    void sent(byte_queue& what, i64 size) noexcept;

    // Takes what the loop holds of it, until it is closed: a count, and that the process goes on.
    void adopt() noexcept;

    u8 wanted() const noexcept override;
    void ready(loop& on, u8 events) override;
    void arrived(loop& on, const u8* data, i64 size) override;
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;

private:
    // What a change under the guard has to be followed by outside of it.
    struct effects {
        bool drained = false;
        bool overflow = false;
        bool sent = false;
        bool resumed = false;
        int broken = 0;
    };
    struct linger;
    friend struct linger;
    static const emitter_hooks hooks;
    static void on_changed(emitter_base& e);
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);
    static void on_gone(emitter_base& e);

    void append(const void* from, i64 size) noexcept;
    i64 late_mark() const noexcept;
    void push(effects& then) noexcept;
    bool take_overflow() noexcept;
    bool take_drained() noexcept;
    void settle(const effects& then) noexcept;
    void abort(const error& why, bool tell) noexcept;
    void pump(bool at_loop) noexcept;
    bool take_line(string& text) noexcept;
    void after_last_input(bool at_loop) noexcept;
    void close_when_sent() noexcept;
    void retire(loop& on) noexcept;

    byte_queue in_;             // read and not yet taken
    byte_queue out_;            // written and not yet sent
    const u8* fresh_ = nullptr; // just read, in the loop's memory, behind in_
    i64 fresh_size_ = 0;
    i64 scanned_ = 0; // bytes of in_ without an end of line
    i64 limit_;
    ref<tcp_socket> from_;
    linger* lingering_ = nullptr;
    bool has_data_ : 1 = false; // handlers for it
    bool has_line_ : 1 = false;
    bool busy_ : 1 = false;      // data or a line is being handled
    bool pumping_ : 1 = false;   // the loop hands out what it has read
    bool announced_ : 1 = false; // in_ was there when a handler for data began
    bool started_ : 1 = false;
    bool ended_ : 1 = false;      // nothing more will be read
    bool saw_end_ : 1 = false;    // the peer's end was read
    bool drained_in_ : 1 = false; // all input was handled
    bool closing_ : 1 = false;    // to be closed once out_ is sent
    bool closed_ : 1 = false;     // the event close was posted
    bool broken_ : 1 = false;     // nothing can be sent
    bool unflushed_ : 1 = false;  // in some loop's list
    bool blocked_ : 1 = false;    // the kernel takes no more now
    bool lent_ : 1 = false;       // what was in out_ is being sent by the ring
    bool over_ : 1 = false;       // overflow was posted, drained was not
    bool telling_ : 1 = false;    // one of both is about to be posted
    bool late_ : 1 = false;       // so much waits to be sent that nothing is read
    bool no_more_ : 1 = false;    // close_write was called
    bool said_so_ : 1 = false;    // and the peer told
    bool patient_ : 1 = true;     // no limit yet on how long the peer may take
};

// Lets the kernel look for peers that are gone without a word. Connections have it from
// their listener.
void watch_peer(int fd) noexcept;

// A connection that has come in; what nobody takes is closed.
class connection {
public:
    connection(int fd, ref<tcp_socket> from) noexcept : fd_(fd), from_(move(from)) {}
    connection(connection&& other) noexcept
        : fd_(other.fd_), from_(move(other.from_)), taken_(move(other.taken_)) {
        other.fd_ = -1;
    }
    connection& operator=(connection&&) = delete;
    ~connection();

    ref<socket> call();
    string address() const;

private:
    int fd_;
    ref<tcp_socket> from_;
    ref<socket> taken_;
};

class tcp_socket final : public emitter_base, public channel, public stoppable, alarm_node {
public:
    static ref<tcp_socket> listen(i64 port, const string& host = string::literal("127.0.0.1"),
                                  i64 max = 0);
    static async<result<ref<socket>>> connect(const string& host, i64 port);

    tcp_socket(tcp_socket&& fresh) noexcept;
    ~tcp_socket();
    // Under full permission.
    void close() noexcept;

    // Any thread. A connection that was accepted here has ended.
    void one_less() noexcept;

    u8 wanted() const noexcept override;
    void ready(loop&, u8) override {}
    void accepted(loop& on, int connection) override;
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;

private:
    tcp_socket() noexcept;
    void bind_to(i64 port, const string& host) noexcept;
    void ring(loop& on, i64 now_ns) override;
    static const emitter_hooks hooks;
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);
    static void on_gone(emitter_base& e);

    i64 max_ = 0; // connections at a time; 0: no limit
    i64 open_ = 0;
    i64 port_ = 0;
    string name_;     // for reports: host:port
    int why_not_ = 0; // the errno of what failed
    bool started_ = false;
    bool busy_ = false;    // a connection waits for its handler
    bool resting_ = false; // out of descriptors or memory
    bool closed_ = false;
};

// What a continuation has received starts when it has ended, as with what a handler takes
// from a connection.
template <> struct received<result<ref<socket>>> {
    explicit received(const result<ref<socket>>& r) noexcept;
    ~received();

private:
    ref<socket> socket_;
};

} // namespace eve

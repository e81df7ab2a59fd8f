#pragma once
// Stream sockets over TCP, and listeners for them: std/io/socket.eve.
//
// A socket's descriptor belongs to one loop. Tasks that hold the socket's permission may write
// from any worker. The guard of the channel protects the state that both sides touch. Input is
// read only while no handler of the socket is under way. Output is gathered, and sent once at the
// end of a batch of events. While a peer does not read its output, its input is not read either.
#include "async.hpp"
#include "buffer.hpp"
#include "emitter.hpp"
#include "fired.hpp"
#include "loop.hpp"
#include "protection.hpp"
#include "result.hpp"
#include "vector.hpp"

namespace eve {

class formatter;
class tcp_socket;

struct data {};
struct ended {};
struct drained {};
struct overflow {};
struct close {};
struct line {
    string text;
};
struct listening {
    i64 port;
};

// The error for an errno.
error error_of(int code);

// The timer of a socket is its clock, and when it closes the limit of its lingering.
// Its fields lie so that they have no gaps: io.md says what a connection costs.
class socket final : public emitter_base, public stoppable, timer_node {
    u32 missed_ = 0; // ticks that no event has told yet; behind the timer's index

public:
    // For a connected descriptor. `from` is null if it was not accepted by a listener.
    socket(int connected, loop& home, ref<tcp_socket> from) noexcept;
    socket(socket&& fresh) noexcept;
    ~socket();

    // Under read permission.
    i64 pending() const noexcept;
    string address() const;
    string protocol() const;
    // Under full permission.
    bytes read_buffer();
    void write_buffer(const bytes& what) noexcept { append(what.data(), what.size()); }
    void write(const string& text) noexcept { append(text.data(), text.size()); }
    void write(const formatter& text) noexcept;
    void close() noexcept;
    void abort() noexcept { abort(error(), false); }
    void close_write() noexcept;
    void pause() noexcept;
    void resume() noexcept;
    void full_duplex() noexcept;
    void limit(i64 size) noexcept;
    void every(duration interval) noexcept;

    // Worker threads only. Sends the pending output.
    void flush() noexcept;
    socket* next_unflushed = nullptr;
    // The loop of the socket only. Moves the pending output out, to be sent at once. False: there
    // is none, or it cannot be sent now. After true, exactly one call of sent() says how many
    // bytes the kernel took, or a negative errno.
    bool take_output(byte_queue& to) noexcept;
    void sent(byte_queue& what, i64 size) noexcept;

    // Before it is adopted. `by` is the socket's from now on. shakes: the handshake, which may
    // take this long, is still to come.
    void secure_with(layer* by, i64 patience_ns, bool shakes) noexcept;
    // Under read permission: null if it is not protected. use is called under the guard, and only
    // after the handshake.
    template <class F> void with_layer(F use) const {
        auto* me = const_cast<socket*>(this);
        locked l(me->guard);
        if (layer* by = me->settled_layer()) use(*by);
    }

    // Makes the loop hold a count of the socket until it is closed, and keeps the process alive.
    void adopt() noexcept;

    u8 wanted() const noexcept override;
    void ready(loop& on, u8 events) override;
    void arrived(loop& on, const u8* data, i64 size) override;
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;
    header* shared() noexcept override { return header_of(*this); }

private:
    // Steps that follow a change under the guard, after the guard is released.
    struct effects {
        bool drained = false;
        bool overflow = false;
        bool sent = false;
        bool resumed = false;
        int broken = 0;
    };
    struct secured; // secured.hpp
    friend struct secured;
    static const emitter_hooks hooks;
    static void on_changed(emitter_base& e);
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);
    static void on_gone(emitter_base& e);
    static bool is_void(emitter_base& e, event_key key, const void* event);

    void expire(loop& on, i64 now_ns) override;
    void wind(loop& on) noexcept;
    fired take_ticks() noexcept;
    void ticked() noexcept;
    void append(const void* from, i64 size) noexcept;
    i64 high_water_mark() const noexcept;
    void note_high_water() noexcept;
    int break_output(int code) noexcept;
    void push(effects& then) noexcept;
    void hurry_peer() noexcept;
    bool take_overflow() noexcept;
    bool take_drained() noexcept;
    void apply(const effects& then) noexcept;
    void abort(const error& why, bool tell) noexcept;
    void pump(bool at_loop) noexcept;
    bool take_line(string& text) noexcept;
    void add_fresh(const u8* what, i64 size) noexcept;
    void after_last_input(bool at_loop) noexcept;
    void input_over() noexcept;
    bool must_linger() noexcept;
    void close_when_sent() noexcept;
    void retire(loop& on) noexcept;

    // Under the guard. The number of bytes that are not sent; whether a handshake is under way.
    i64 unsent() const noexcept {
        return secure_ == nullptr ? out_.size() : out_.size() + sealed();
    }
    bool shaking() const noexcept { return secure_ != nullptr && is_shaking(); }
    void begin_to_close() noexcept {
        if (!closing_) number_ = 0;
        closing_ = true;
    }

    // secured.cpp: for protected connections. Under the guard, up to settled_layer: the number of
    // bytes that are ready for the network; these bytes, and more if there were none.
    i64 sealed() const noexcept;
    byte_queue& seal() noexcept;
    bool is_shaking() const noexcept;
    void drop_output() noexcept;
    layer* settled_layer() const noexcept;
    bool receive(loop& on, const u8* data, i64 size, bool ends) noexcept;
    bool unseal(const u8* data, i64 size, bool ends) noexcept;
    bool shake(loop& on) noexcept;
    void fail(const error& why) noexcept;

    byte_queue in_;             // input that no handler has taken
    byte_queue out_;            // output not yet sent
    const u8* fresh_ = nullptr; // input just read, in the reader's memory, behind in_
    i32 fresh_size_ = 0;
    i32 scanned_ = 0; // number of bytes of in_ that were searched for an end of line
    ref<tcp_socket> from_;
    secured* secure_ = nullptr; // null: the connection is not protected
    duration interval_ = 0;     // of the clock; 0: there is none
    i64 number_ = 0;            // of its ticks; behind the close, of the bytes that are dropped
    u32 limit_ : 31;            // of pending output, in bytes
    u32 duplex_ : 1 = 0;        // input is read however much output is pending
    bool has_data_ : 1 = false; // there are handlers for it
    bool has_line_ : 1 = false;
    bool busy_ : 1 = false;      // data or a line is being handled
    bool pumping_ : 1 = false;   // a worker emits the input that it has read
    bool announced_ : 1 = false; // in_ was not empty when a handler of data began
    bool adopted_ : 1 = false;   // the loop has a count of it
    bool started_ : 1 = false;
    bool ended_ : 1 = false;            // no more input will be read
    bool saw_end_ : 1 = false;          // end of input was read
    bool drained_in_ : 1 = false;       // all input was handled
    bool closing_ : 1 = false;          // to be closed when out_ is sent
    bool closed_ : 1 = false;           // the event close was posted
    bool broken_ : 1 = false;           // sending has failed
    bool unflushed_ : 1 = false;        // in the list of some loop
    bool blocked_ : 1 = false;          // the kernel takes no more bytes now
    bool sending_ : 1 = false;          // the ring is sending the bytes that were in out_
    bool over_ : 1 = false;             // overflow was posted, drained not yet
    bool posting_ : 1 = false;          // overflow or drained is being posted
    bool above_high_water_ : 1 = false; // above the high-water mark: nothing is read
    bool shutdown_wanted_ : 1 = false;  // close_write was called
    bool shutdown_done_ : 1 = false;    // shutdown(SHUT_WR) was called
    bool patient_ : 1 = true;           // the peer has no time limit yet
    bool lingering_ : 1 = false;        // closed, and reading to the peer's end
    bool wound_ : 1 = false;            // the clock was set, and the loop has not heard of it
    bool ticking_ : 1 = false;          // a tick is being handled
    bool paused_ : 1 = false;           // the program wants no input now
    u8 winding_ : 6 = 0;                // how often the clock was set, modulo 64
    static constexpr u8 most_winding = 63;
};

// Turns TCP keepalive on, to detect peers that vanish. Connections inherit it from their listener.
void watch_peer(int fd) noexcept;

// An accepted connection. If no handler takes it, it is closed.
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

// A connection that is being made, for those who want to give it up.
class opening {
public:
    static ref<opening> begin();
    opening() noexcept {}
    opening(opening&&) noexcept {} // a fresh one
    ~opening();
    // Any thread.
    void cancel() noexcept;

    // Any thread. The operation is what cancel gives up, by mail_clock to its channel: then it owns
    // a count more. False: it was cancelled before.
    bool join(operation& what, channel& at) noexcept;

private:
    spin_lock guard_;
    bool over_ = false;
    operation* what_ = nullptr; // counted
    channel* at_ = nullptr;
};

class tcp_socket final : public emitter_base, public stoppable, timer_node {
public:
    static ref<tcp_socket> listen(i64 port, const string& host = string::literal("127.0.0.1"),
                                  i64 max = 0, option<server_protection> by = none);
    static async<result<ref<socket>>> connect(const string& host, i64 port,
                                              option<client_protection> by = none,
                                              option<ref<opening>> how = none);
    static async<result<vector<string>>> addresses(const string& host);

    tcp_socket(tcp_socket&& fresh) noexcept;
    ~tcp_socket();
    // Under full permission.
    void close() noexcept;

    // Any thread. What protects its connections; null: nothing does.
    const protector* protector_of_all() const noexcept { return by_.get(); }

    // Any thread. A connection of this listener has ended.
    void connection_ended() noexcept;

    u8 wanted() const noexcept override;
    void ready(loop&, u8) override {}
    void accepted(loop& on, int connection) override;
    void mailed(loop& on, u32 what) override;
    void start(loop& on) override;
    void shut() noexcept override;
    header* shared() noexcept override { return header_of(*this); }

private:
    tcp_socket() noexcept;
    void bind_to(i64 port, const string& host) noexcept;
    void expire(loop& on, i64 now_ns) override;
    static const emitter_hooks hooks;
    static bool on_unhandled(emitter_base& e, event_key key, void* event);
    static void on_ended(emitter_base& e, event_key key, void* event);
    static bool on_failed(emitter_base& e, const failure& f);
    static void on_gone(emitter_base& e);

    i64 max_ = 0; // most connections at a time; 0: no limit
    i64 open_ = 0;
    i64 port_ = 0;
    protection by_;
    string name_;     // for reports: host:port
    u64 file_ = 0;    // the number of the file of a Unix socket, which is removed at the end
    int why_not_ = 0; // the errno of the failure
    bool started_ = false;
    bool busy_ = false;             // the handler of a connection has not run yet
    bool out_of_resources_ = false; // out of descriptors or memory
    bool closed_ = false;
};

// A socket that a continuation has received starts when the continuation has ended. A socket that
// a handler takes from a connection does so too.
template <> struct received<result<ref<socket>>> {
    explicit received(const result<ref<socket>>& r) noexcept;
    ~received();

private:
    ref<socket> socket_;
};

} // namespace eve

#pragma once
// The event loop of a worker. It has descriptors, timers, mail from other workers, and output that
// is gathered between system calls. A descriptor belongs to one loop for life. The handlers that
// its events start may run on any worker.
//
// A loop lends its data while its worker runs a body (loan.hpp). "Inside" below is the worker that
// may use the data now: the loop's own, or a guest that serves the loop while its own computes. So
// all of it may change while a handler runs: no step behind a handler relies on what it has read
// before. Only channels that are in hand stay as they are.
//
// The part that talks to the kernel is a reactor: epoll (epoll.cpp) or io_uring (uring.cpp). Both
// have one interface.
#include "fake_time.hpp"
#include "file_call.hpp"
#include "timer_heap.hpp"
#include "lock.hpp"
#include "poller.hpp"

struct sockaddr;

namespace eve {

class loop;
class reactor;
class socket;
struct header;

// Conditions of a descriptor, as requests to the kernel and as its reports.
enum : u8 {
    io_in = 1,     // input or connections to accept
    io_out = 2,    // space to write
    io_end = 4,    // the peer will write no more
    io_hangup = 8, // reports only: closed in both directions, or an error
};

// Requests from one worker to the loop of another one: bits of channel::mail.
enum : u32 {
    mail_update = 1, // the channel wants other conditions: tell the kernel
    mail_retire = 2, // release the descriptor
    mail_start = 4,  // start the channel
    mail_done = 8,   // a pool thread has finished its call
    mail_clock = 16, // a socket's clock was set
};

// A descriptor that a loop watches. Its owner keeps it alive until the loop has forgotten it.
struct channel {
    enum class kind : u8 { stream, listener, other };

    explicit channel(kind k) noexcept : how(k) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    int fd = -1;
    u16 in_flight = 0;      // ring: requests that the kernel still has. Inside only
    u8 cancelling = 0;      // ring: the conditions whose requests are being cancelled. Inside only
    bool releasing = false; // ring: all requests are being cancelled. Inside only
    bool bulk = false;      // ring: it receives much at a time. Inside only
    bool in_bulk = false;   // ring: its read uses large buffers. Inside only
    kind how;
    u8 have = 0; // conditions requested from the kernel. Epoll: under guard. Ring: inside only
    spin_lock guard;
    u16 in_hand = 0; // calls of its methods under way, which may run handlers. Inside only
    atomic<u32> mail;
    u32 kept_mail = 0; // mail that waits until it is not in hand. Inside only
    loop* home = nullptr;
    channel* next_mail = nullptr;
    channel* next_start = nullptr;

    // The conditions that it waits for now: io_in, io_out, io_end. The caller has the guard. A
    // channel that begins to want more calls loop::update. One that wants less waits until the
    // kernel reports a condition that it does not want.
    virtual u8 wanted() const noexcept = 0;

    // All the methods below but start: inside only, without the guard. ready: the descriptor is
    // ready for some of the wanted conditions, or hung up. A channel of kind `other` must itself
    // take care to want no more than it can handle; it may be freed by ready.
    virtual void ready(loop& on, u8 events) = 0;
    // Streams: bytes have arrived. 0 bytes: end of input. Below 0: a negative errno.
    virtual void arrived(loop& on, const u8* data, i64 bytes);
    // Listeners: a connection. Below 0: a negative errno.
    virtual void accepted(loop& on, int connection);
    virtual void mailed(loop& on, u32 what);
    // The body that made it has ended. On the worker of that body, or inside.
    virtual void start(loop& on);

    bool wants(u8 events) noexcept {
        locked l(guard);
        return (wanted() & events) != 0;
    }

protected:
    ~channel() = default;
};

// A channel that keeps the process alive. So process.shutdown stops it.
class stoppable : public channel {
public:
    explicit stoppable(kind k) noexcept : channel(k), newer_(this) {}
    // Any worker. Begins to end. Queued work still runs.
    virtual void shut() noexcept = 0;
    virtual header* shared() noexcept = 0;

    // Any thread. Adds it to the list of all. The owner keeps it alive while it is there, and
    // removes it with leave.
    void enter() noexcept;
    void leave() noexcept;
    // Any worker.
    static void shut_all() noexcept;
    // Any thread. Whether shut_all was called.
    static bool ending() noexcept;

protected:
    ~stoppable() = default;

private:
    stoppable* older_ = nullptr;
    stoppable* newer_; // itself while it is not in the list
};

class reactor {
public:
    virtual ~reactor() = default;
    virtual const char* name() const noexcept = 0;
    // Makes the kernel watch for the wanted conditions. The caller has the guard. Any thread if
    // updates_anywhere().
    virtual void update(channel& c) noexcept = 0;
    virtual bool updates_anywhere() const noexcept = 0;
    // Inside only. The descriptor is about to be closed. False: the kernel still has requests for
    // it. When they have ended, mail_retire comes, and forget returns true.
    virtual bool forget(channel& c) noexcept = 0;
    // Owner only, inside. Waits until there is an event (below 0: without a limit), and handles
    // none.
    virtual void wait(i64 timeout_ns) noexcept = 0;
    // Inside only. Handles the events that are there. False: there were none.
    virtual bool poll(loop& on) noexcept = 0;
    // Inside only. Whether there is room for the requests of another channel.
    virtual bool has_room() const noexcept { return true; }
    // Any thread. A descriptor that is readable when there are events, or after wake_guest.
    virtual int alarm() const noexcept = 0;
    // Inside only. Before a wait for the alarm: gives the kernel what is to be given to it. False:
    // there are events.
    virtual bool settle(bool owner) noexcept = 0;
    // In the handler of SIGURG, on the owner's thread, whatever it was doing.
    virtual void interrupted() noexcept {}
    // Any thread. Ends the current wait, or else the next one.
    virtual void wake() noexcept = 0;
    // Any thread. The same for the guest, which waits for the alarm.
    virtual void wake_guest() noexcept { wake(); }
    // Inside only. Sends the output of the socket together with that of others at send_all, and
    // takes over a count of the socket. False: the socket must send by itself.
    virtual bool send(loop&, socket&) noexcept { return false; }
    virtual void send_all() noexcept {}
    // Inside only. Makes the call without waiting for it, and tells the request its result. False:
    // a thread of the pool has to make it.
    virtual bool submit(file_request&) noexcept { return false; }
};

reactor* make_epoll() noexcept;
// Null if io_uring is not available.
reactor* make_uring() noexcept;

class loop final : public poller {
public:
    loop() noexcept;
    ~loop() override;

    void wait(i64 timeout_us) override;
    bool poll() override;
    void wake() override;
    bool serve(poller& other) override;
    bool quiet() const noexcept override { return mail_.load(order::seq_cst) == nullptr; }
    void timer_due() override;
    // In the handler of SIGURG.
    void interrupted() noexcept { kernel_->interrupted(); }

    // Any thread. Makes the loop call channel::mailed.
    void mail(channel& c, u32 what) noexcept;
    // Any thread. The channel wants more conditions than before. The caller has its guard.
    void update(channel& c) noexcept;

    // Any thread. Whether its worker is inside.
    bool inside() const noexcept;

    // Inside only.
    void set(timer_node& timer, i64 at_ns) noexcept { timers_.set(timer, at_ns); }
    void cancel(timer_node& timer) noexcept { timers_.cancel(timer); }
    // The same for times of the program's clock: program_ns.
    void set(clock_timer& timer, i64 at_ns) noexcept {
        if (unlikely(the_fake_clock.on())) the_fake_clock.set(timer, *this, at_ns);
        else timers_.set(timer, at_ns);
    }
    void cancel(clock_timer& timer) noexcept {
        if (unlikely(the_fake_clock.on())) the_fake_clock.cancel(timer);
        else timers_.cancel(timer);
    }
    bool forget(channel& c) noexcept { return kernel_->forget(c); }
    bool submit(file_request& r) noexcept { return kernel_->submit(r); }
    // Around a call of a channel's method that may run handlers: the channel is neither released
    // nor freed meanwhile, except by the call itself.
    void take_in_hand(channel& c) noexcept { c.in_hand++; }
    void put_down(channel& c) noexcept {
        if (--c.in_hand == 0 && unlikely(c.kept_mail != 0)) send_kept_mail(c);
    }

    // Owner only.
    // Calls channel::start when the running body has ended. Until then the body can register
    // handlers, so that no event is lost. The caller keeps the channel alive.
    void start_later(channel& c) noexcept;
    // Between two handlers: starts what the body before has made, since the next may be long.
    bool start_all() noexcept;
    // The socket is flushed at the end of this batch of events. Takes over a count of it.
    void flush_later(socket& s) noexcept;
    // The read buffer of the worker. Its contents are valid until the worker's next read.
    u8* scratch() noexcept { return scratch_; }
    static constexpr i64 scratch_bytes = 65536; // a guess: one read empties most sockets
    const char* reactor_name() const noexcept { return kernel_->name(); }

    // Any thread. The connections that it has: those that were dealt to it and have not ended.
    void add_client() noexcept { clients_.fetch_add(1, order::relaxed); }
    void drop_client() noexcept { clients_.fetch_sub(1, order::relaxed); }
    u32 clients() const noexcept { return clients_.load(order::relaxed); }

private:
    friend class visit;
    bool read_mail() noexcept;
    void send_kept_mail(channel& c) noexcept;
    bool flush_all() noexcept;
    bool expire_due() noexcept;
    bool poll_served(worker* w) noexcept;
    bool settle(bool owner, i64& limit_ns) noexcept;
    void wait_for_several(worker* w, i64 limit_ns) noexcept;
    void wake_owner() noexcept;
    void wake_guest() noexcept;

    // Inside only, but for the atomic ones.
    reactor* kernel_;
    timer_heap timers_;
    channel* unread_ = nullptr; // mail that was taken out of mail_ and is being read
    socket* unflushed_ = nullptr;
    atomic<channel*> mail_;
    // How the owner waits. Guests may take every event of the reactor, so in ppoll the owner has a
    // bell of its own, and `woken_` is for it alone.
    enum : u32 { awake, in_reactor, in_ppoll };
    atomic<u32> asleep_;
    atomic<u32> woken_;         // wake() was called since the last wait
    atomic<u32> guests_asleep_; // number of guests that wait
    atomic<u32> clients_;
    int bell_; // an eventfd

    // Owner only.
    channel* starting_ = nullptr; // the newest one of a circular list
    loop** served_ = nullptr;     // the loops of other workers that this one serves
    int served_count_ = 0;
    u8* scratch_;
};

// Owner only. While it lives, its worker is inside of its own loop, in the middle of a body or
// where it is inside already. Never under the guard of a channel: those are taken inside.
class visit {
    loop& l_;
    worker* w_;
    poller* was_; // where the worker was

public:
    explicit visit(loop& own) noexcept;
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit();
};

// Worker threads only. The loop of the calling worker.
loop& this_loop() noexcept;
// Worker threads only. The loop with the fewest connections; of several in turn.
loop& least_loaded_loop() noexcept;

} // namespace eve

#pragma once
// The event loop of a worker: the descriptors that it watches, its alarms, what other workers ask
// of it, and the output gathered since the kernel was last asked. A descriptor stays with one loop
// for life; the handlers that its events start may run anywhere.
//
// The kernel's side is a reactor: epoll (epoll.cpp) or io_uring (uring.cpp), the same
// to all above it.
#include "alarm.hpp"
#include "lock.hpp"
#include "poller.hpp"

struct sockaddr;

namespace eve {

class loop;
class reactor;
class socket;
struct header;

// What can be asked of the kernel about a descriptor, and what it answers.
enum : u8 {
    io_in = 1,     // something to read or to accept
    io_out = 2,    // room to write
    io_end = 4,    // the other side will write no more
    io_hangup = 8, // answers only: no more in either direction, or an error
};

// What one worker may ask of the loop of another one: bits of channel::mail.
enum : u32 {
    mail_update = 1, // tell the kernel what the channel wants now
    mail_retire = 2, // give up the descriptor
    mail_start = 4,  // whatever the channel begins with
    mail_done = 8,   // a pool thread has finished its part
};

// A descriptor that a loop watches. Whoever made it keeps it alive until the loop has forgotten it.
struct channel {
    enum class kind : u8 { stream, listener, other };

    explicit channel(kind k) noexcept : how(k) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    int fd = -1;
    u16 flight = 0;       // ring: requests that the kernel still has. Owner only
    u8 dropping = 0;      // ring: of these, what it was asked to give back. Owner only
    bool leaving = false; // ring: all of them. Owner only
    bool bulk = false;    // ring: much comes at a time. Owner only
    bool in_bulk = false; // ring: and it was asked for so. Owner only
    kind how;
    u8 have = 0; // what the kernel has been asked for. Epoll: under guard. Ring: owner only
    spin_lock guard;
    atomic<u32> mail;
    loop* home = nullptr;
    channel* next_mail = nullptr;
    channel* next_start = nullptr;

    // What it waits for now: io_in, io_out, io_end. The caller has the guard. A channel that
    // begins to want more calls loop::update; one that wants less waits until the kernel reports
    // what it does not want.
    virtual u8 wanted() const noexcept = 0;

    // Owner only, all of them, without the guard. The descriptor is ready for some of what is
    // wanted, or hung up. Of kind `other`, which takes care itself to want no more than it can use:
    // ready may end it.
    virtual void ready(loop& on, u8 events) = 0;
    // Streams: bytes have arrived; 0 bytes: the end; below 0: minus an errno.
    virtual void arrived(loop& on, const u8* data, i64 bytes);
    // Listeners: a connection; below 0: minus an errno.
    virtual void accepted(loop& on, int connection);
    virtual void mailed(loop& on, u32 what);
    // The body that made it has ended.
    virtual void start(loop& on);

    bool wants(u8 events) noexcept {
        locked l(guard);
        return (wanted() & events) != 0;
    }

protected:
    ~channel() = default;
};

// What process.shutdown stops: everything that keeps the process alive by itself.
class stoppable {
public:
    stoppable() noexcept {}
    stoppable(const stoppable&) = delete;
    stoppable& operator=(const stoppable&) = delete;
    // Any worker. Begins to end; what is queued still runs.
    virtual void shut() noexcept = 0;

    // Any thread. The list of all: whoever is in it is kept alive by whoever put it there, and
    // takes itself out.
    void enter(header* object) noexcept;
    void leave() noexcept;
    // Any worker.
    static void shut_all() noexcept;
    // Any thread. Whether shut_all was called.
    static bool ending() noexcept;

protected:
    ~stoppable() = default;

private:
    header* object_ = nullptr;
    stoppable* older_ = nullptr;
    stoppable* newer_ = nullptr;
};

class reactor {
public:
    virtual ~reactor() = default;
    virtual const char* name() const noexcept = 0;
    // Makes the kernel watch for what the channel wants; the caller has the guard. Any thread if
    // updates_anywhere().
    virtual void update(channel& c) noexcept = 0;
    virtual bool updates_anywhere() const noexcept = 0;
    // Owner only. The descriptor is about to be closed. False: the kernel still has requests for
    // it; when they have ended, mail_retire comes, and forget is true.
    virtual bool forget(channel& c) noexcept = 0;
    // Owner only. Waits until there is something to handle (below 0: without end) and
    // handles nothing.
    virtual void wait(i64 timeout_ns) noexcept = 0;
    // Owner only. Handles what is there. False: nothing was.
    virtual bool poll(loop& on) noexcept = 0;
    // Any thread. Ends the wait that is going on, or else the next one.
    virtual void wake() noexcept = 0;
    // Owner only. Sends what the socket has to send together with what else is sent until send_all,
    // and takes over a count of it. False: it has to be sent by itself.
    virtual bool send(loop&, socket&) noexcept { return false; }
    virtual void send_all() noexcept {}
};

reactor* make_epoll() noexcept;
// Null when there is no io_uring here.
reactor* make_uring() noexcept;

class loop final : public poller {
public:
    loop() noexcept;
    ~loop() override;

    void wait(i64 timeout_us) override;
    bool poll() override;
    void wake() override { kernel_->wake(); }

    // Any thread. Asks the loop for channel::mailed.
    void mail(channel& c, u32 what) noexcept;
    // Any thread. The channel wants more than before; the caller has its guard.
    void update(channel& c) noexcept;

    // Owner only.
    void set(alarm_node& alarm, i64 at_ns) noexcept { alarms_.set(alarm, at_ns); }
    void take_back(alarm_node& alarm) noexcept { alarms_.take_back(alarm); }
    bool forget(channel& c) noexcept { return kernel_->forget(c); }
    // channel::start is called when the body that runs now has ended: until then it can register
    // handlers, so that no event is lost. The caller keeps the channel alive.
    void start_later(channel& c) noexcept;
    // The socket is flushed at the end of this batch of events. Takes over a count of it.
    void flush_later(socket& s) noexcept;
    // Where bytes are read to. Valid until the next read.
    u8* scratch() noexcept { return scratch_; }
    static constexpr i64 scratch_bytes = 65536; // a guess: one read empties most sockets
    const char* reactor_name() const noexcept { return kernel_->name(); }

private:
    bool read_mail() noexcept;
    bool start_all() noexcept;
    bool flush_all() noexcept;
    bool ring_due() noexcept;

    reactor* kernel_;
    alarm_heap alarms_;
    atomic<channel*> mail_;
    atomic<u32> asleep_;
    channel* starting_ = nullptr; // the newest; a ring
    socket* unflushed_ = nullptr;
    u8* scratch_;
};

// Worker threads only. The loop of the calling worker.
loop& this_loop() noexcept;
// Worker threads only. The loops in turn: connections are dealt evenly.
loop& next_loop() noexcept;

} // namespace eve

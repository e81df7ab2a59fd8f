// The reactor by io_uring. Reads are submitted beforehand and sends are gathered, so one system
// call serves many connections. Input arrives in provided buffers, which the kernel uses for
// whichever connection has data. The ring is used by system calls alone, without liburing, which
// would be one more library to link.
//
// A ring keeps the files of its requests open, and the kernel destroys the ring of a killed
// process late, 10 to 40 ms on a busy machine. The next process wants the ports of the listeners
// at once, so listeners are not in the ring: they are in an epoll, which the ring polls.
//
// The kernel lets only the thread of the ring submit requests and deliver results. While that
// thread computes, a guest uses the ring's memory, and has SIGURG interrupt the thread when there
// is something to submit or to deliver; the signal's handler enters the kernel.
#include "fail.hpp"
#include "loop.hpp"
#include "memory.hpp"
#include "socket.hpp"
#include "worker.hpp"

#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif

#if defined(IORING_RECV_MULTISHOT) && defined(IORING_SETUP_DEFER_TASKRUN)

#include <errno.h>
#include <linux/time_types.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uring_buffers.hpp"

namespace eve {

namespace {

constexpr u32 entries = 1024; // requests submitted at once; a guess
// A guest cannot make room by submitting. It leaves this much for what one result or one mail may
// add: three requests of a channel, its cancellations, and those of the ring itself.
constexpr u32 spare_entries = 64;
// Numbers of provided buffers are powers of two. Small messages use small buffers, in any order. A
// connection that fills one of those reads into a few large ones, which stay in the cache from one
// read to the next.
constexpr u32 small_buffers = 64;
constexpr i64 small_bytes = 8192;
constexpr u32 large_buffers = 8;
constexpr i64 large_bytes = 65536;
constexpr u16 small_group = 0, large_group = 1;
constexpr int listeners_a_turn = 16; // calls of listeners
constexpr int accepts_a_turn = 64;   // connections of one listener; a guess
constexpr int results_a_turn = 512;  // before tasks have their turn; a guess
constexpr int enters_a_signal = 8;   // each delivers some of the results; a guess
constexpr i64 most_sent = 1 << 30;   // by one request: the limit of its length field

// The kind of a request, in the low bits of its user_data. The bits above are its channel, or what
// else it is for. Of the reactor's own requests the listeners' names the reactor, the waker's
// nothing.
enum op : u64 { op_read, op_own, op_out, op_end, op_poll, op_file, op_cancel, op_send };

constexpr u8 each_bit[] = {io_in, io_out, io_end};

u8 bit_of(op what) noexcept { return what == op_out ? io_out : what == op_end ? io_end : io_in; }

// Output of a socket that the kernel is sending.
struct outgoing {
    explicit outgoing(socket& s) noexcept : of(&s) {}
    socket* of;
    byte_queue what;
};

class uring_reactor final : public reactor {
public:
    ~uring_reactor() override;
    bool open() noexcept;

    const char* name() const noexcept override { return "uring"; }
    bool updates_anywhere() const noexcept override { return false; }
    void update(channel& c) noexcept override;
    bool forget(channel& c) noexcept override;
    void wait(i64 timeout_ns) noexcept override;
    bool poll(loop& on) noexcept override;
    bool has_room() const noexcept override { return pending_ < sq_entries_ - spare_entries; }
    int alarm() const noexcept override { return alarm_; }
    bool settle(bool owner) noexcept override;
    void interrupted() noexcept override;
    void wake() noexcept override;
    void wake_guest() noexcept override;
    bool send(loop& on, socket& s) noexcept override;
    void send_all() noexcept override;
    bool submit(file_request& r) noexcept override;

private:
    bool map_rings(const io_uring_params& p) noexcept;
    class request;
    void submit(channel& c, u8 bit) noexcept;
    void cancel_request(channel& c, u8 bit) noexcept;
    void submit_wake() noexcept;
    void submit_listeners() noexcept;
    void watch_listener(channel& c) noexcept;
    void accept_from_one(loop& on) noexcept;
    void interrupt_owner() noexcept;
    int enter(u32 least, u32 flags, const void* argument, usize size) noexcept;
    bool any() const noexcept { return *cq_head_ != __atomic_load_n(cq_tail_, __ATOMIC_ACQUIRE); }
    bool unanswered() const noexcept {
        return interrupts_.load(order::relaxed) != answers_.load(order::seq_cst);
    }
    bool undelivered() const noexcept;
    void register_alarm() noexcept;
    void watch_ring(bool on) noexcept;
    void dispatch(loop& on, const io_uring_cqe& result) noexcept;
    void read_result(loop& on, channel& c, const io_uring_cqe& result) noexcept;

    int ring_ = -1;
    int waker_ = -1;
    int listeners_ = -1; // an epoll of the listeners
    int alarm_ = -1;     // an eventfd that the kernel signals at new results, while watched_
    pid_t thread_ = 0;
    u64 wake_count_ = 0; // read buffer of the eventfd
    u32 pending_ = 0;    // requests not submitted yet
    u32 sq_entries_ = 0;
    u32 *sq_head_ = nullptr, *sq_tail_ = nullptr, *sq_mask_ = nullptr, *sq_flags_ = nullptr,
        *sq_array_ = nullptr;
    u32 *cq_head_ = nullptr, *cq_tail_ = nullptr, *cq_mask_ = nullptr, *cq_flags_ = nullptr;
    io_uring_sqe* sqes_ = nullptr;
    io_uring_cqe* cqes_ = nullptr;
    u8* rings_ = nullptr;
    usize rings_bytes_ = 0;
    buffer_ring small_{small_group, small_buffers, small_bytes};
    buffer_ring large_{large_group, large_buffers, large_bytes};
    bool entered_ = false; // the kernel was entered for results since the last poll
    bool watched_ = false;
    bool accepting_ = false; // listeners have connections, and the ring does not poll their epoll
    atomic<u32> registered_; // the alarm is
    atomic<u32> interrupts_, answers_; // signals sent to the thread, and those that it has handled
};

bool uring_reactor::open() noexcept {
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    p.cq_entries = 4 * entries;
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, entries, &p));
    if (ring_ < 0) return false;
    waker_ = eventfd(0, EFD_CLOEXEC);
    listeners_ = epoll_create1(EPOLL_CLOEXEC);
    alarm_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = static_cast<pid_t>(syscall(SYS_gettid));
    if (!(p.features & IORING_FEAT_SINGLE_MMAP) || !(p.features & IORING_FEAT_EXT_ARG) ||
        waker_ < 0 || listeners_ < 0 || alarm_ < 0)
        return false;
    if (!map_rings(p) || !small_.open(ring_) || !large_.open(ring_)) return false;
    submit_wake();
    submit_listeners();
    return true;
}

bool uring_reactor::map_rings(const io_uring_params& p) noexcept {
    usize sq_bytes = p.sq_off.array + p.sq_entries * sizeof(u32);
    usize cq_bytes = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
    rings_bytes_ = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
    rings_ = static_cast<u8*>(map_memory(rings_bytes_, ring_, IORING_OFF_SQ_RING));
    sqes_ = static_cast<io_uring_sqe*>(
        map_memory(p.sq_entries * sizeof(io_uring_sqe), ring_, IORING_OFF_SQES));
    if (rings_ == nullptr || sqes_ == nullptr) return false;
    auto at = [&](u32 offset) { return reinterpret_cast<u32*>(rings_ + offset); };
    sq_head_ = at(p.sq_off.head);
    sq_tail_ = at(p.sq_off.tail);
    sq_mask_ = at(p.sq_off.ring_mask);
    sq_flags_ = at(p.sq_off.flags);
    sq_array_ = at(p.sq_off.array);
    cq_head_ = at(p.cq_off.head);
    cq_tail_ = at(p.cq_off.tail);
    cq_mask_ = at(p.cq_off.ring_mask);
    cq_flags_ = at(p.cq_off.flags);
    cqes_ = reinterpret_cast<io_uring_cqe*>(rings_ + p.cq_off.cqes);
    sq_entries_ = p.sq_entries;
    return true;
}

uring_reactor::~uring_reactor() {
    if (ring_ >= 0) ::close(ring_);
    if (waker_ >= 0) ::close(waker_);
    if (listeners_ >= 0) ::close(listeners_);
    if (alarm_ >= 0) ::close(alarm_);
    if (rings_ != nullptr) munmap(rings_, rings_bytes_);
    if (sqes_ != nullptr) munmap(sqes_, sq_entries_ * sizeof(io_uring_sqe));
}

// Submits the pending requests, and waits for `least` results.
int uring_reactor::enter(u32 least, u32 flags, const void* argument, usize size) noexcept {
    int n = static_cast<int>(
        syscall(SYS_io_uring_enter, ring_, pending_, least, flags, argument, size));
    pending_ = *sq_tail_ - __atomic_load_n(sq_head_, __ATOMIC_ACQUIRE);
    return n;
}

// A request that is being filled in. It is the kernel's from its end on, and not before: a signal
// may have the ring's thread enter the kernel at any time, also while a guest fills it in.
class uring_reactor::request {
    uring_reactor& ring_;
    io_uring_sqe* sqe_;

public:
    request(uring_reactor& ring, void* of, op what) noexcept : ring_(ring) {
        while (ring.pending_ == ring.sq_entries_) ring.enter(0, 0, nullptr, 0);
        u32 index = *ring.sq_tail_ & *ring.sq_mask_;
        ring.sq_array_[index] = index;
        sqe_ = &ring.sqes_[index];
        memset(sqe_, 0, sizeof *sqe_);
        sqe_->user_data = reinterpret_cast<u64>(of) | what;
    }
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    ~request() {
        __atomic_store_n(ring_.sq_tail_, *ring_.sq_tail_ + 1, __ATOMIC_RELEASE);
        ring_.pending_++;
    }
    io_uring_sqe* operator->() const noexcept { return sqe_; }
};

void uring_reactor::submit_wake() noexcept {
    request sqe(*this, nullptr, op_own);
    sqe->opcode = IORING_OP_READ;
    sqe->fd = waker_;
    sqe->addr = reinterpret_cast<u64>(&wake_count_);
    sqe->len = sizeof wake_count_;
}

void uring_reactor::submit_listeners() noexcept {
    request sqe(*this, this, op_own);
    sqe->opcode = IORING_OP_POLL_ADD;
    sqe->fd = listeners_;
    sqe->poll32_events = POLLIN;
}

// A listener begins or ceases to want connections.
void uring_reactor::watch_listener(channel& c) noexcept {
    u8 want = c.fd < 0 ? u8(0) : c.wanted();
    if (want == c.have) return;
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &c}};
    if (epoll_ctl(listeners_, want != 0 ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, c.fd, &event) != 0)
        die("the kernel watches no more descriptors");
    c.have = want;
}

// One listener at a time: while a handler runs, another worker may go on with the others.
void uring_reactor::accept_from_one(loop& on) noexcept {
    epoll_event open;
    if (epoll_wait(listeners_, &open, 1, 0) != 1) {
        accepting_ = false;
        submit_listeners();
        return;
    }
    auto& c = *static_cast<channel*>(open.data.ptr);
    on.take_in_hand(c);
    for (int k = 0; k < accepts_a_turn && c.wants(io_in); k++) {
        int connection = accept4(c.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection < 0 && errno == EAGAIN) break;
        if (connection >= 0 || (errno != EINTR && errno != ECONNABORTED))
            c.accepted(on, connection < 0 ? -errno : connection);
    }
    {
        locked l(c.guard);
        watch_listener(c);
    }
    on.put_down(c);
}

void uring_reactor::submit(channel& c, u8 bit) noexcept {
    bool in = bit == io_in;
    op what = bit == io_out                    ? op_out
              : bit == io_end                  ? op_end
              : c.how == channel::kind::stream ? op_read
                                               : op_poll;
    request sqe(*this, &c, what);
    sqe->fd = c.fd;
    if (what == op_read) {
        sqe->opcode = IORING_OP_RECV;
        sqe->ioprio = c.bulk ? 0 : IORING_RECV_MULTISHOT;
        sqe->flags = IOSQE_BUFFER_SELECT;
        sqe->buf_group = c.bulk ? large_group : small_group;
        c.in_bulk = c.bulk;
    } else {
        sqe->opcode = IORING_OP_POLL_ADD;
        sqe->poll32_events = in ? POLLIN : bit == io_out ? POLLOUT : POLLRDHUP;
    }
    c.have |= bit;
    c.in_flight++;
}

// Cancels a request. The end of the request is a result of its own.
void uring_reactor::cancel_request(channel& c, u8 bit) noexcept {
    op what = bit == io_out                    ? op_out
              : bit == io_end                  ? op_end
              : c.how == channel::kind::stream ? op_read
                                               : op_poll;
    request sqe(*this, nullptr, op_cancel);
    sqe->opcode = IORING_OP_ASYNC_CANCEL;
    sqe->addr = reinterpret_cast<u64>(&c) | what;
    c.cancelling |= bit;
}

void uring_reactor::update(channel& c) noexcept {
    if (c.how == channel::kind::listener) return watch_listener(c);
    if (c.fd < 0 || c.releasing) return;
    u8 want = c.wanted();
    for (u8 bit : each_bit) {
        if (want & ~c.have & bit) submit(c, bit);
        else if (c.have & ~want & ~c.cancelling & bit) cancel_request(c, bit);
    }
}

bool uring_reactor::forget(channel& c) noexcept {
    if (c.how == channel::kind::listener) {
        locked l(c.guard);
        if (c.have != 0) epoll_ctl(listeners_, EPOLL_CTL_DEL, c.fd, nullptr);
        c.have = 0;
        return true;
    }
    if (c.in_flight == 0) return true;
    c.releasing = true;
    for (u8 bit : each_bit) {
        if (c.have & ~c.cancelling & bit) cancel_request(c, bit);
    }
    return false;
}

void uring_reactor::wake() noexcept {
    u64 one = 1;
    while (::write(waker_, &one, sizeof one) < 0 && errno == EINTR) {}
}

// Not by way of the ring: its thread need not be interrupted.
void uring_reactor::wake_guest() noexcept {
    u64 one = 1;
    while (::write(alarm_, &one, sizeof one) < 0 && errno == EINTR) {}
}

// The kernel sends what it can at once, without blocking, so the socket does not change before the
// next poll. Only for sockets of this loop: another loop could close the socket meanwhile, and its
// descriptor could be reused.
bool uring_reactor::send(loop& on, socket& s) noexcept {
    if (s.home != &on || &this_loop() != &on) return false;
    auto* p = create<outgoing>(s);
    if (!s.take_output(p->what)) {
        destroy(p);
        return false;
    }
    request sqe(*this, p, op_send);
    sqe->opcode = IORING_OP_SEND;
    sqe->fd = s.fd;
    sqe->addr = reinterpret_cast<u64>(p->what.data());
    sqe->len = static_cast<u32>(p->what.size() < most_sent ? p->what.size() : most_sent);
    sqe->msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    return true;
}

void uring_reactor::send_all() noexcept {
    if (pending_ == 0) return;
    enter(0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
    entered_ = true;
}

// The kernel reads at once what its cache has. For all else it has threads of its own.
bool uring_reactor::submit(file_request& r) noexcept {
    if (!has_room()) return false; // a guest cannot make room
    const file_call& c = r.call;
    u8 opcode;
    switch (c.what) {
    case file_call::op::read: opcode = IORING_OP_READ; break;
    case file_call::op::write: opcode = IORING_OP_WRITE; break;
    case file_call::op::sync: opcode = IORING_OP_FSYNC; break;
    case file_call::op::close: opcode = IORING_OP_CLOSE; break;
    default: return false;
    }
    request sqe(*this, &r, op_file);
    sqe->opcode = opcode;
    sqe->fd = c.fd;
    if (c.data == nullptr) return true;
    sqe->addr = reinterpret_cast<u64>(c.data);
    sqe->len = static_cast<u32>(c.size);
    sqe->off = static_cast<u64>(c.at);
    return true;
}

void uring_reactor::wait(i64 timeout_ns) noexcept {
    if (any() || accepting_) return;
    __kernel_timespec limit{.tv_sec = timeout_ns / 1'000'000'000,
                            .tv_nsec = timeout_ns % 1'000'000'000};
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = _NSIG / 8;
    if (timeout_ns >= 0) argument.ts = reinterpret_cast<u64>(&limit);
    enter(1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
}

bool uring_reactor::poll(loop& on) noexcept {
    worker* w = self();
    bool owner = w->io == &on;
    if (unlikely(watched_)) {
        u64 count;
        (void)!::read(alarm_, &count, sizeof count);
        if (owner) watch_ring(false);
    }
    // The kernel delivers finished results only when it is entered.
    if (owner && (pending_ > 0 || (!any() && !entered_)))
        enter(0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
    if (owner) entered_ = false;
    int n = 0;
    for (; n < results_a_turn && any() && (owner || has_room()); n++) {
        io_uring_cqe result = cqes_[*cq_head_ & *cq_mask_];
        __atomic_store_n(cq_head_, *cq_head_ + 1, __ATOMIC_RELEASE);
        dispatch(on, result);
        if (unlikely(w->starts)) this_loop().start_all();
    }
    for (int i = 0; i < listeners_a_turn && accepting_; i++, n++) {
        accept_from_one(on);
        if (unlikely(w->starts)) this_loop().start_all();
    }
    if (!owner) interrupt_owner();
    else if (pending_ > 0) enter(0, 0, nullptr, 0);
    return n > 0;
}

// Has the kernel signal the alarm. Only on the ring's thread. Linux 6.18 drops all but the first
// signals for results that another eventfd has caused. So a loop that waits for its alarm is woken
// by other means, and signals come by a pipe.
void uring_reactor::register_alarm() noexcept {
    if (registered_.load(order::acquire) != 0) return;
    syscall(SYS_io_uring_register, ring_, IORING_REGISTER_EVENTFD, &alarm_, 1);
    registered_.store(1, order::release);
}

// While it is off, the alarm costs the kernel nothing but a look at this word.
void uring_reactor::watch_ring(bool on) noexcept {
    if (watched_ == on) return;
    watched_ = on;
    __atomic_store_n(cq_flags_, on ? 0 : IORING_CQ_EVENTFD_DISABLED, __ATOMIC_SEQ_CST);
}

// Whether the kernel has results that it delivers when the ring's thread enters it.
bool uring_reactor::undelivered() const noexcept {
    pollfd ring{ring_, POLLIN, 0};
    return !any() && ::poll(&ring, 1, 0) == 1;
}

// The alarm is on before the check for results, so none comes unnoticed between the two.
bool uring_reactor::settle(bool owner) noexcept {
    if (owner) register_alarm();
    watch_ring(true);
    if (owner && pending_ > 0) enter(0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
    if (accepting_ || (any() && (owner || has_room()))) return false;
    if (owner) return !undelivered();
    interrupt_owner();
    return true;
}

// A guest. One signal at a time: its handler takes all that is there.
void uring_reactor::interrupt_owner() noexcept {
    if (unanswered()) return;
    pending_ = *sq_tail_ - __atomic_load_n(sq_head_, __ATOMIC_ACQUIRE);
    if (registered_.load(order::acquire) != 0 && pending_ == 0 && !undelivered()) return;
    interrupts_.store(interrupts_.load(order::relaxed) + 1, order::seq_cst);
    syscall(SYS_tgkill, getpid(), thread_, SIGURG);
}

// It does not matter what the thread was doing, nor what a guest does: the kernel takes only
// requests that are complete. It delivers some results at a time.
void uring_reactor::interrupted() noexcept {
    u32 sent = interrupts_.load(order::seq_cst);
    if (sent == answers_.load(order::relaxed)) return;
    register_alarm();
    for (int i = 0; i < enters_a_signal; i++) {
        u32 delivered = __atomic_load_n(cq_tail_, __ATOMIC_ACQUIRE);
        u32 ready = __atomic_load_n(sq_tail_, __ATOMIC_ACQUIRE) -
                    __atomic_load_n(sq_head_, __ATOMIC_ACQUIRE);
        syscall(SYS_io_uring_enter, ring_, ready, 0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
        if (__atomic_load_n(cq_tail_, __ATOMIC_ACQUIRE) == delivered) break;
    }
    answers_.store(sent, order::seq_cst);
    wake_guest();
}

void uring_reactor::read_result(loop& on, channel& c, const io_uring_cqe& result) noexcept {
    if (result.res > 0) {
        auto number = static_cast<u16>(result.flags >> IORING_CQE_BUFFER_SHIFT);
        buffer_ring& from = c.in_bulk ? large_ : small_;
        c.bulk = result.res >= (c.in_bulk ? small_bytes / 2 : small_bytes);
        if (!c.releasing) c.arrived(on, from.at(number), result.res);
        from.provide(number);
        if (c.bulk && !c.in_bulk && (c.have & ~c.cancelling & io_in) && !c.releasing)
            cancel_request(c, io_in); // it is submitted again with the other buffers
    } else if (!c.releasing && result.res != -ENOBUFS && result.res != -ECANCELED &&
               result.res != -EINTR) {
        c.arrived(on, nullptr, result.res);
    }
}

void uring_reactor::dispatch(loop& on, const io_uring_cqe& result) noexcept {
    auto what = static_cast<op>(result.user_data & 7);
    if (what == op_cancel) return;
    if (what == op_own) {
        if ((result.user_data & ~u64(7)) == 0) submit_wake();
        else accepting_ = true;
        return;
    }
    if (what == op_file) {
        reinterpret_cast<file_request*>(result.user_data & ~u64(7))->finished(on, result.res);
        return;
    }
    if (what == op_send) {
        auto* p = reinterpret_cast<outgoing*>(result.user_data & ~u64(7));
        p->of->sent(p->what, result.res);
        header_of(*p->of)->drop();
        destroy(p);
        return;
    }
    auto& c = *reinterpret_cast<channel*>(result.user_data & ~u64(7));
    bool ends = !(result.flags & IORING_CQE_F_MORE);
    if (ends) {
        locked l(c.guard);
        c.have = static_cast<u8>(c.have & ~bit_of(what));
        c.cancelling = static_cast<u8>(c.cancelling & ~bit_of(what));
        if (c.how == channel::kind::other) c.in_flight--;
    }
    bool cancelled = result.res == -ECANCELED;
    if (c.how == channel::kind::other) {
        if (c.releasing && c.in_flight == 0) on.mail(c, mail_retire);
        else if (!c.releasing) c.ready(on, bit_of(what)); // which may free it
        return;
    }
    // The request counts as in in_flight until its channel has been called: so a channel that
    // forgets itself meanwhile is not freed.
    on.take_in_hand(c);
    if (what == op_read) read_result(on, c, result);
    else if ((what == op_out || what == op_end) && !cancelled && !c.releasing)
        c.ready(on, bit_of(what));
    if (ends) {
        locked l(c.guard);
        c.in_flight--;
    }
    if (c.releasing && c.in_flight == 0) {
        on.mail(c, mail_retire);
    } else {
        locked l(c.guard);
        update(c);
    }
    on.put_down(c);
}

// C functions of a program that block are interrupted too. Most go on by themselves.
void expect_interrupts() noexcept {
    struct sigaction how {};
    how.sa_handler = [](int) {
        int saved = errno;
        worker* w = self();
        if (w != nullptr && w->io != nullptr) static_cast<loop*>(w->io)->interrupted();
        errno = saved;
    };
    how.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGURG, &how, nullptr);
}

} // namespace

reactor* make_uring() noexcept {
    auto* r = new uring_reactor;
    if (r->open()) {
        expect_interrupts();
        return r;
    }
    delete r;
    return nullptr;
}

} // namespace eve

#else

namespace eve {

reactor* make_uring() noexcept { return nullptr; }

} // namespace eve

#endif

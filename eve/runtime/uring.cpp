// The reactor by io_uring: reads and accepts are handed to the kernel beforehand, so that one system call takes the
// results of many; bytes that arrive lie in buffers lent to the kernel for whatever connection needs them next. By
// system calls alone, since a library would be one more thing to link.
#include "fail.hpp"
#include "loop.hpp"

#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif

#if defined(IORING_RECV_MULTISHOT) && defined(IORING_SETUP_DEFER_TASKRUN)

#include <errno.h>
#include <linux/time_types.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr u32 entries = 1024;          // requests handed over at once; a guess
constexpr u32 buffers = 64;            // lent to the kernel; a power of two
constexpr i64 buffer_bytes = 65536;    // with 8192, echoes of 64 KiB cost 1.6 times the processor time
constexpr int results_a_turn = 512;    // before tasks have their turn; a guess
constexpr u16 group = 0;

// What a request was, in the low bits of its tag; above them its channel.
enum op : u64 { op_read, op_accept, op_out, op_end, op_poll, op_wake, op_cancel };

constexpr u8 each_bit[] = {io_in, io_out, io_end};

u8 bit_of(op what) noexcept
{
    return what == op_out ? io_out : what == op_end ? io_end : io_in;
}

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
    void wake() noexcept override;

private:
    bool map_rings(const io_uring_params& p) noexcept;
    bool lend_buffers() noexcept;
    void lend(u16 number) noexcept;
    io_uring_sqe* request(channel* c, op what) noexcept;
    void ask(channel& c, u8 bit) noexcept;
    void take_back(channel& c, u8 bit) noexcept;
    void await_wake() noexcept;
    int enter(u32 least, u32 flags, const void* argument, usize size) noexcept;
    bool any() const noexcept { return *cq_head_ != __atomic_load_n(cq_tail_, __ATOMIC_ACQUIRE); }
    void dispatch(loop& on, const io_uring_cqe& result) noexcept;
    void read_result(loop& on, channel& c, const io_uring_cqe& result) noexcept;

    int ring_ = -1;
    int waker_ = -1;
    u64 waken_ = 0;                 // where the count of the waker is read to
    u32 pending_ = 0;               // requests not handed over yet
    u32 sq_entries_ = 0;
    u32 *sq_head_ = nullptr, *sq_tail_ = nullptr, *sq_mask_ = nullptr, *sq_flags_ = nullptr, *sq_array_ = nullptr;
    u32 *cq_head_ = nullptr, *cq_tail_ = nullptr, *cq_mask_ = nullptr;
    io_uring_sqe* sqes_ = nullptr;
    io_uring_cqe* cqes_ = nullptr;
    u8* rings_ = nullptr;
    usize rings_bytes_ = 0;
    io_uring_buf_ring* lent_ = nullptr;
    u8* memory_ = nullptr;
    u16 lent_tail_ = 0;
};

void* map(usize bytes, int fd, u64 offset) noexcept
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
    return at == MAP_FAILED ? nullptr : at;
}

bool uring_reactor::open() noexcept
{
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    p.cq_entries = 4 * entries;
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, entries, &p));
    if (ring_ < 0)
        return false;
    waker_ = eventfd(0, EFD_CLOEXEC);
    if (!(p.features & IORING_FEAT_SINGLE_MMAP) || !(p.features & IORING_FEAT_EXT_ARG) || waker_ < 0)
        return false;
    if (!map_rings(p) || !lend_buffers())
        return false;
    await_wake();
    return true;
}

bool uring_reactor::map_rings(const io_uring_params& p) noexcept
{
    usize sq_bytes = p.sq_off.array + p.sq_entries * sizeof(u32);
    usize cq_bytes = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
    rings_bytes_ = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
    rings_ = static_cast<u8*>(map(rings_bytes_, ring_, IORING_OFF_SQ_RING));
    sqes_ = static_cast<io_uring_sqe*>(map(p.sq_entries * sizeof(io_uring_sqe), ring_, IORING_OFF_SQES));
    if (rings_ == nullptr || sqes_ == nullptr)
        return false;
    auto at = [&](u32 offset) { return reinterpret_cast<u32*>(rings_ + offset); };
    sq_head_ = at(p.sq_off.head);
    sq_tail_ = at(p.sq_off.tail);
    sq_mask_ = at(p.sq_off.ring_mask);
    sq_flags_ = at(p.sq_off.flags);
    sq_array_ = at(p.sq_off.array);
    cq_head_ = at(p.cq_off.head);
    cq_tail_ = at(p.cq_off.tail);
    cq_mask_ = at(p.cq_off.ring_mask);
    cqes_ = reinterpret_cast<io_uring_cqe*>(rings_ + p.cq_off.cqes);
    sq_entries_ = p.sq_entries;
    return true;
}

bool uring_reactor::lend_buffers() noexcept
{
    lent_ = static_cast<io_uring_buf_ring*>(map(buffers * sizeof(io_uring_buf), -1, 0));
    memory_ = static_cast<u8*>(map(buffers * buffer_bytes, -1, 0)); // pages come when they are used
    if (lent_ == nullptr || memory_ == nullptr)
        return false;
    io_uring_buf_reg about{};
    about.ring_addr = reinterpret_cast<u64>(lent_);
    about.ring_entries = buffers;
    about.bgid = group;
    if (syscall(SYS_io_uring_register, ring_, IORING_REGISTER_PBUF_RING, &about, 1) != 0)
        return false;
    for (u16 i = 0; i < buffers; i++)
        lend(i);
    return true;
}

uring_reactor::~uring_reactor()
{
    if (ring_ >= 0)
        ::close(ring_);
    if (waker_ >= 0)
        ::close(waker_);
    if (rings_ != nullptr)
        munmap(rings_, rings_bytes_);
    if (sqes_ != nullptr)
        munmap(sqes_, sq_entries_ * sizeof(io_uring_sqe));
    if (lent_ != nullptr)
        munmap(lent_, buffers * sizeof(io_uring_buf));
    if (memory_ != nullptr)
        munmap(memory_, buffers * buffer_bytes);
}

void uring_reactor::lend(u16 number) noexcept
{
    // Not lent_->bufs, which the kernel's header puts at another place in C++ than in C.
    io_uring_buf& b = reinterpret_cast<io_uring_buf*>(lent_)[lent_tail_ & (buffers - 1)];
    b.addr = reinterpret_cast<u64>(memory_ + number * buffer_bytes);
    b.len = static_cast<u32>(buffer_bytes);
    b.bid = number;
    __atomic_store_n(&lent_->tail, ++lent_tail_, __ATOMIC_RELEASE);
}

// Hands over what is pending, and waits for so many results.
int uring_reactor::enter(u32 least, u32 flags, const void* argument, usize size) noexcept
{
    int n = static_cast<int>(syscall(SYS_io_uring_enter, ring_, pending_, least, flags, argument, size));
    pending_ = *sq_tail_ - __atomic_load_n(sq_head_, __ATOMIC_ACQUIRE);
    return n;
}

io_uring_sqe* uring_reactor::request(channel* c, op what) noexcept
{
    while (pending_ == sq_entries_)
        enter(0, 0, nullptr, 0);
    u32 tail = *sq_tail_;
    u32 index = tail & *sq_mask_;
    io_uring_sqe* sqe = &sqes_[index];
    memset(sqe, 0, sizeof *sqe);
    sqe->user_data = reinterpret_cast<u64>(c) | what;
    sq_array_[index] = index;
    __atomic_store_n(sq_tail_, tail + 1, __ATOMIC_RELEASE); // the kernel looks when it is entered
    pending_++;
    return sqe;
}

void uring_reactor::await_wake() noexcept
{
    io_uring_sqe* sqe = request(nullptr, op_wake);
    sqe->opcode = IORING_OP_READ;
    sqe->fd = waker_;
    sqe->addr = reinterpret_cast<u64>(&waken_);
    sqe->len = sizeof waken_;
}

void uring_reactor::ask(channel& c, u8 bit) noexcept
{
    bool in = bit == io_in;
    op what = bit == io_out ? op_out : bit == io_end ? op_end
        : c.how == channel::kind::stream ? op_read : c.how == channel::kind::listener ? op_accept : op_poll;
    io_uring_sqe* sqe = request(&c, what);
    sqe->fd = c.fd;
    if (what == op_read) {
        sqe->opcode = IORING_OP_RECV;
        sqe->ioprio = IORING_RECV_MULTISHOT;
        sqe->flags = IOSQE_BUFFER_SELECT;
        sqe->buf_group = group;
    } else if (what == op_accept) {
        sqe->opcode = IORING_OP_ACCEPT;
        sqe->accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    } else {
        sqe->opcode = IORING_OP_POLL_ADD;
        sqe->poll32_events = in ? POLLIN : bit == io_out ? POLLOUT : POLLRDHUP;
    }
    c.have |= bit;
    c.flight++;
}

// The kernel shall not go on with it; that it has stopped is a result of its own.
void uring_reactor::take_back(channel& c, u8 bit) noexcept
{
    op what = bit == io_out ? op_out : bit == io_end ? op_end
        : c.how == channel::kind::stream ? op_read : c.how == channel::kind::listener ? op_accept : op_poll;
    io_uring_sqe* sqe = request(nullptr, op_cancel);
    sqe->opcode = IORING_OP_ASYNC_CANCEL;
    sqe->addr = reinterpret_cast<u64>(&c) | what;
    c.dropping |= bit;
}

void uring_reactor::update(channel& c) noexcept
{
    if (c.fd < 0 || c.leaving)
        return;
    u8 want = c.wanted();
    for (u8 bit : each_bit) {
        if (want & ~c.have & bit)
            ask(c, bit);
        else if (c.have & ~want & ~c.dropping & bit)
            take_back(c, bit);
    }
}

bool uring_reactor::forget(channel& c) noexcept
{
    if (c.flight == 0)
        return true;
    c.leaving = true;
    for (u8 bit : each_bit) {
        if (c.have & ~c.dropping & bit)
            take_back(c, bit);
    }
    return false;
}

void uring_reactor::wake() noexcept
{
    u64 one = 1;
    while (::write(waker_, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void uring_reactor::wait(i64 timeout_ns) noexcept
{
    if (any())
        return;
    __kernel_timespec limit{.tv_sec = timeout_ns / 1'000'000'000, .tv_nsec = timeout_ns % 1'000'000'000};
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = _NSIG / 8;
    if (timeout_ns >= 0)
        argument.ts = reinterpret_cast<u64>(&limit);
    enter(1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
}

bool uring_reactor::poll(loop& on) noexcept
{
    // Results of what the kernel finished meanwhile come only when it is entered.
    if (pending_ > 0 || !any())
        enter(0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
    int n = 0;
    for (; n < results_a_turn && any(); n++) {
        io_uring_cqe result = cqes_[*cq_head_ & *cq_mask_];
        __atomic_store_n(cq_head_, *cq_head_ + 1, __ATOMIC_RELEASE);
        dispatch(on, result);
    }
    if (pending_ > 0)
        enter(0, 0, nullptr, 0);
    return n > 0;
}

void uring_reactor::read_result(loop& on, channel& c, const io_uring_cqe& result) noexcept
{
    if (result.res > 0) {
        auto number = static_cast<u16>(result.flags >> IORING_CQE_BUFFER_SHIFT);
        if (!c.leaving)
            c.arrived(on, memory_ + number * buffer_bytes, result.res);
        lend(number);
    } else if (!c.leaving && result.res != -ENOBUFS && result.res != -ECANCELED && result.res != -EINTR) {
        c.arrived(on, nullptr, result.res);
    }
}

void uring_reactor::dispatch(loop& on, const io_uring_cqe& result) noexcept
{
    auto what = static_cast<op>(result.user_data & 7);
    if (what == op_cancel)
        return;
    if (what == op_wake) {
        await_wake();
        return;
    }
    auto& c = *reinterpret_cast<channel*>(result.user_data & ~u64(7));
    bool ends = !(result.flags & IORING_CQE_F_MORE);
    if (ends) {
        locked l(c.guard);
        c.have = static_cast<u8>(c.have & ~bit_of(what));
        c.dropping = static_cast<u8>(c.dropping & ~bit_of(what));
        if (c.how == channel::kind::other)
            c.flight--;
    }
    bool cancelled = result.res == -ECANCELED;
    if (c.how == channel::kind::other) {
        if (c.leaving && c.flight == 0)
            on.mail(c, mail_retire);
        else if (!c.leaving)
            c.ready(on, bit_of(what)); // and is perhaps gone
        return;
    }
    // Until its channel has been told it counts as under way: what forgets itself meanwhile is not freed under us.
    if (what == op_read)
        read_result(on, c, result);
    else if (what == op_accept && result.res >= 0 && c.leaving)
        ::close(result.res);
    else if (what == op_accept && !cancelled && !c.leaving && result.res != -EINTR && result.res != -ECONNABORTED)
        c.accepted(on, result.res);
    else if ((what == op_out || what == op_end) && !cancelled && !c.leaving)
        c.ready(on, bit_of(what));
    if (ends) {
        locked l(c.guard);
        c.flight--;
    }
    if (c.leaving && c.flight == 0) {
        on.mail(c, mail_retire);
        return;
    }
    locked l(c.guard);
    update(c);
}

} // namespace

reactor* make_uring() noexcept
{
    auto* r = new uring_reactor;
    if (r->open())
        return r;
    delete r;
    return nullptr;
}

} // namespace eve

#else

namespace eve {

reactor* make_uring() noexcept
{
    return nullptr;
}

} // namespace eve

#endif

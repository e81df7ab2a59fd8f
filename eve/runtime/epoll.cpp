// The reactor by epoll. It is level-triggered, and reads until a read is short. A descriptor that
// must not be read now is removed from epoll only when the kernel reports it. So a busy connection
// costs no extra system call.
#include "fail.hpp"
#include "loop.hpp"
#include "worker.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr int batch = 256; // events of one epoll_wait; a guess
// reads of one connection before the others have their turn; a guess
constexpr int reads_a_turn = 16;
constexpr int accepts_a_turn = 64;
#ifdef __SANITIZE_THREAD__
constexpr bool sanitized = true; // ThreadSanitizer does not know epoll_pwait2 (GCC 12)
#else
constexpr bool sanitized = false;
#endif

u32 to_epoll(u8 wanted) noexcept {
    return (wanted & io_in ? u32(EPOLLIN) : 0) | (wanted & io_out ? u32(EPOLLOUT) : 0) |
           (wanted & io_end ? u32(EPOLLRDHUP) : 0);
}

u8 from_epoll(u32 events) noexcept {
    return static_cast<u8>((events & EPOLLIN ? io_in : 0) | (events & EPOLLOUT ? io_out : 0) |
                           (events & EPOLLRDHUP ? io_end : 0) |
                           (events & (EPOLLHUP | EPOLLERR) ? io_hangup : 0));
}

class epoll_reactor final : public reactor {
public:
    epoll_reactor() noexcept
        : epoll_(epoll_create1(EPOLL_CLOEXEC)), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
        if (epoll_ < 0 || waker_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_, &event) != 0)
            die("no event loop: out of descriptors");
    }
    ~epoll_reactor() override {
        ::close(epoll_);
        ::close(waker_);
    }

    const char* name() const noexcept override { return "epoll"; }
    bool updates_anywhere() const noexcept override { return true; }
    void update(channel& c) noexcept override;
    bool forget(channel& c) noexcept override;
    void wait(i64 timeout_ns) noexcept override;
    bool poll(loop& on) noexcept override;
    int alarm() const noexcept override { return epoll_; }
    bool settle(bool) noexcept override { return at_ >= count_; }
    void wake() noexcept override;

private:
    void dispatch(loop& on, channel& c, u8 events);
    void handle(loop& on, channel& c, u8 events);
    bool read(loop& on, channel& c);
    void accept(loop& on, channel& c);
    // Whether the channel in hand was forgotten by the call of its method: it may be freed.
    bool gone(const channel& c) const noexcept { return forgotten_ == &c; }

    int epoll_;
    int waker_;
    int count_ = 0;                      // of events_; below 0: the wait was interrupted
    int at_ = 0;                         // index of the next event to handle
    const channel* forgotten_ = nullptr; // the last one that was
    bool precise_ = !sanitized;          // the kernel has epoll_pwait2
    epoll_event events_[batch];
};

void epoll_reactor::update(channel& c) noexcept {
    u8 want = c.fd < 0 ? u8(0) : c.wanted();
    if (want == c.have) return;
    epoll_event event{.events = to_epoll(want), .data = {.ptr = &c}};
    // The kernel always reports hang-ups. So a channel that wants nothing is removed.
    int op = c.have == 0 ? EPOLL_CTL_ADD : want == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (epoll_ctl(epoll_, op, c.fd, &event) == 0) c.have = want;
    else if (errno != EPERM) // out of memory, or of watches
        die("the kernel watches no more descriptors");
}

bool epoll_reactor::forget(channel& c) noexcept {
    locked l(c.guard);
    if (c.have != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, c.fd, nullptr);
    c.have = 0;
    forgotten_ = &c;
    for (int i = at_; i < count_; i++) // events of it that are still to be handled are void
        if (events_[i].data.ptr == &c) events_[i].data.ptr = this;
    return true;
}

void epoll_reactor::wake() noexcept {
    u64 one = 1;
    while (::write(waker_, &one, sizeof one) < 0 && errno == EINTR) {}
}

void epoll_reactor::wait(i64 timeout_ns) noexcept {
    if (at_ < count_) return;
    at_ = 0;
    if (timeout_ns > 0 && precise_) {
        timespec limit{.tv_sec = timeout_ns / 1'000'000'000, .tv_nsec = timeout_ns % 1'000'000'000};
        count_ = epoll_pwait2(epoll_, events_, batch, &limit, nullptr);
        if (count_ >= 0 || errno != ENOSYS) return;
        precise_ = false;
    }
    i64 ms = timeout_ns < 0 ? -1 : (timeout_ns + 999'999) / 1'000'000;
    count_ = epoll_wait(epoll_, events_, batch, ms > 3'600'000 ? 3'600'000 : static_cast<int>(ms));
}

// While a handler runs, another worker may go on with the batch, and begin the next one.
bool epoll_reactor::poll(loop& on) noexcept {
    wait(0);
    worker* w = self();
    bool any = at_ < count_;
    while (at_ < count_) {
        epoll_event event = events_[at_++];
        if (event.data.ptr == this) continue;
        if (event.data.ptr != nullptr) {
            dispatch(on, *static_cast<channel*>(event.data.ptr), from_epoll(event.events));
            if (unlikely(w->starts)) this_loop().start_all();
            continue;
        }
        u64 count;
        (void)!::read(waker_, &count, sizeof count);
    }
    return any;
}

// False if nothing was read because the channel does not want input now.
bool epoll_reactor::read(loop& on, channel& c) {
    u8* buffer = this_loop().scratch();
    for (int i = 0; i < reads_a_turn; i++) {
        if (!c.wants(io_in)) return i > 0;
        i64 n = ::recv(c.fd, buffer, loop::scratch_bytes, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        c.arrived(on, buffer, n < 0 ? -errno : n);
        if (n < loop::scratch_bytes || gone(c)) return true;
    }
    return true;
}

void epoll_reactor::accept(loop& on, channel& c) {
    for (int i = 0; i < accepts_a_turn && !gone(c) && c.wants(io_in); i++) {
        int connection = accept4(c.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection < 0 && errno == EAGAIN) return;
        if (connection >= 0 || (errno != EINTR && errno != ECONNABORTED))
            c.accepted(on, connection < 0 ? -errno : connection);
    }
}

void epoll_reactor::dispatch(loop& on, channel& c, u8 events) {
    if (c.how == channel::kind::other) {
        c.ready(on, events); // which may free it
        return;
    }
    forgotten_ = nullptr;
    on.take_in_hand(c);
    handle(on, c, events);
    if (!gone(c)) on.put_down(c);
}

void epoll_reactor::handle(loop& on, channel& c, u8 events) {
    if (events & (io_out | io_hangup)) c.ready(on, io_out);
    if (gone(c)) return;
    if (events & (io_in | io_end | io_hangup)) {
        if (c.how == channel::kind::listener) accept(on, c);
        else if (!read(on, c)) c.ready(on, events & (io_end | io_hangup));
    }
    if (gone(c)) return;
    locked l(c.guard);
    if (c.have != 0 && (events & ~c.wanted()) != 0) update(c);
}

} // namespace

reactor* make_epoll() noexcept { return new epoll_reactor; }

} // namespace eve

#include "loop.hpp"

#include "fail.hpp"
#include "pool.hpp"
#include "socket.hpp"
#include "worker.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace eve {

namespace {

constexpr u32 most_loops = 1024; // workers; any above this number get no accepted connections
atomic<loop*> loops[most_loops];
atomic<u32> turn;

// Uses io_uring if the kernel has it (Linux 6.1, but many containers forbid it), unless the user
// chooses otherwise. io.md says what it saves.
reactor* make_reactor() noexcept {
    const char* name = getenv("EVE_IO");
    if (name != nullptr && strcmp(name, "uring") == 0) {
        if (reactor* r = make_uring()) return r;
        die("EVE_IO=uring: io_uring is not to be had here");
    }
    if (name != nullptr && strcmp(name, "epoll") != 0 && *name != '\0')
        die("EVE_IO is epoll or uring");
    reactor* r = name == nullptr || *name == '\0' ? make_uring() : nullptr;
    return r != nullptr ? r : make_epoll();
}

// Each connection is a descriptor. The soft limit of open files is for programs that use select,
// which these do not.
void allow_descriptors() noexcept {
    rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files); // where it is refused, the soft limit stays
}

// The core makes its pollers by this function when io is linked in. SIGPIPE is ignored: a write to
// a closed connection gives an error.
[[gnu::constructor]] void offer_loops() {
    signal(SIGPIPE, SIG_IGN);
    allow_descriptors();
    make_poller = [](worker*) -> poller* { return new loop; };
}

} // namespace

namespace {

spin_lock list_guard;
stoppable* newest;
atomic<u8> shutting;

} // namespace

void stoppable::enter() noexcept {
    locked l(list_guard);
    older_ = newest;
    newer_ = nullptr;
    if (newest != nullptr) newest->newer_ = this;
    newest = this;
}

void stoppable::leave() noexcept {
    locked l(list_guard);
    if (newer_ == this) return;
    if (older_ != nullptr) older_->newer_ = newer_;
    if (newer_ != nullptr) newer_->older_ = older_;
    else newest = older_;
    older_ = nullptr;
    newer_ = this;
}

bool stoppable::ending() noexcept { return shutting.load(order::acquire) != 0; }

// Shutting one may remove any of them from the list, so the list is copied first. A count keeps
// each of them alive meanwhile.
void stoppable::shut_all() noexcept {
    shutting.store(1, order::seq_cst);
    struct entry {
        stoppable* what;
        header* object;
    };
    entry* all;
    i64 n = 0;
    {
        locked l(list_guard);
        for (stoppable* s = newest; s != nullptr; s = s->older_) n++;
        all = static_cast<entry*>(buffer_new(n + 1, sizeof(entry)));
        n = 0;
        for (stoppable* s = newest; s != nullptr; s = s->older_) {
            header* object = s->shared();
            object->keep();
            all[n++] = {s, object};
        }
    }
    for (i64 i = 0; i < n; i++) {
        all[i].what->shut();
        all[i].object->drop();
    }
    buffer_free(all);
}

void channel::arrived(loop&, const u8*, i64) {}
void channel::accepted(loop&, int) {}
void channel::mailed(loop&, u32) {}
void channel::start(loop&) {}

loop::loop() noexcept
    : kernel_(make_reactor()), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      scratch_(static_cast<u8*>(malloc(scratch_bytes))) {
    if (scratch_ == nullptr) die_out_of_memory();
    if (bell_ < 0) die("no event loop: out of descriptors");
    for (u32 i = 0; i < most_loops; i++) {
        loop* unused = nullptr;
        if (loops[i].compare_exchange(unused, this, order::acq_rel, order::relaxed)) break;
    }
}

bool loop::inside() const noexcept {
    worker* w = self();
    return w != nullptr && w->inside == this;
}

visit::visit(loop& own) noexcept : l_(own), w_(self()), was_(w_->inside) {
    if (was_ == &l_) return;
    l_.lending.visit();
    w_->inside = &l_;
}

// A guest that sleeps does not know of what was added.
visit::~visit() {
    if (was_ == &l_) return;
    bool taken = !l_.lending.owned();
    w_->inside = was_;
    l_.lending.lend();
    if (taken) l_.wake_guest();
}

loop::~loop() {
    wait_for_blocking(); // the last step of a call is its mail to a loop
    for (u32 i = 0; i < most_loops; i++) {
        loop* me = this;
        if (loops[i].compare_exchange(me, nullptr, order::acq_rel, order::relaxed)) break;
    }
    free(scratch_);
    buffer_free(served_);
    ::close(bell_);
    delete kernel_;
}

loop& this_loop() noexcept { return *static_cast<loop*>(self()->io); }

loop& least_loaded_loop() noexcept {
    u32 workers = static_cast<u32>(worker_count());
    u32 n = workers < most_loops ? workers : most_loops;
    u32 first = turn.fetch_add(1, order::relaxed);
    loop* best = nullptr;
    for (u32 i = 0; i < n; i++) {
        loop* l = loops[(first + i) % n].load(order::acquire);
        if (l != nullptr && (best == nullptr || l->clients() < best->clients())) best = l;
    }
    return best != nullptr ? *best : this_loop();
}

void loop::mail(channel& c, u32 what) noexcept {
    if (c.mail.fetch_or(what, order::acq_rel) != 0) return;
    channel* head = mail_.load(order::relaxed);
    do c.next_mail = head;
    while (!mail_.compare_exchange(head, &c, order::seq_cst, order::relaxed));
    wake_owner();
    wake_guest();
}

namespace {

// Its mail tells a loop that one of its timers is due in fake time. Only one is due at a time.
struct fake_timer_channel final : channel {
    fake_timer_channel() noexcept : channel(kind::other) {}
    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}
    void mailed(loop& on, u32) override {
        if (clock_timer* t = the_fake_clock.take(on)) t->expire(on, the_fake_clock.now_ns());
    }
};

fake_timer_channel due_in_fake_time;

} // namespace

void loop::timer_due() { mail(due_in_fake_time, mail_clock); }

void loop::wake() {
    woken_.store(1, order::seq_cst);
    wake_owner();
}

void loop::wake_owner() noexcept {
    u32 how = asleep_.load(order::seq_cst);
    if (how == in_reactor) kernel_->wake();
    if (how != in_ppoll) return;
    u64 one = 1;
    while (::write(bell_, &one, sizeof one) < 0 && errno == EINTR) {}
}

void loop::wake_guest() noexcept {
    if (guests_asleep_.load(order::seq_cst) != 0) kernel_->wake_guest();
}

void loop::update(channel& c) noexcept {
    if (kernel_->updates_anywhere() || inside()) kernel_->update(c);
    else mail(c, mail_update);
}

void loop::start_later(channel& c) noexcept {
    c.next_start = starting_ != nullptr ? starting_->next_start : &c;
    if (starting_ != nullptr) starting_->next_start = &c;
    starting_ = &c;
    self()->starts = true;
}

void loop::send_kept_mail(channel& c) noexcept {
    u32 what = c.kept_mail;
    c.kept_mail = 0;
    mail(c, what);
}

void loop::flush_later(socket& s) noexcept {
    bool inside = self()->inside == this;
    if (!inside) lending.visit();
    s.next_unflushed = unflushed_;
    unflushed_ = &s;
    if (inside) return;
    bool taken = !lending.owned();
    lending.lend();
    if (unlikely(taken)) wake_guest();
}

bool loop::read_mail() noexcept {
    if (unread_ == nullptr && mail_.load(order::relaxed) != nullptr)
        unread_ = mail_.exchange(nullptr, order::seq_cst);
    bool any = unread_ != nullptr;
    while (unread_ != nullptr && kernel_->has_room()) {
        channel* c = unread_;
        unread_ = c->next_mail;
        u32 what = c->mail.exchange(0, order::acq_rel);
        if (what & mail_update) {
            locked l(c->guard);
            kernel_->update(*c);
        }
        what &= ~mail_update;
        if (c->in_hand != 0) c->kept_mail |= what;
        else if (what != 0) c->mailed(*this, what);
    }
    return any;
}

// In the order in which they were made: a listener starts before a connection to it.
bool loop::start_all() noexcept {
    self()->starts = false;
    bool any = starting_ != nullptr;
    while (starting_ != nullptr) {
        channel* c = starting_->next_start;
        if (c == starting_) starting_ = nullptr;
        else starting_->next_start = c->next_start;
        c->start(*this);
    }
    return any;
}

// A guest sends by calls of its own, since a ring takes requests from its owner only.
bool loop::flush_all() noexcept {
    bool any = unflushed_ != nullptr;
    while (unflushed_ != nullptr) {
        socket* s = unflushed_;
        unflushed_ = s->next_unflushed;
        if (!kernel_->send(*this, *s)) {
            s->flush();
            header_of(*s)->drop();
        }
    }
    if (any && &this_loop() == this) kernel_->send_all();
    return any;
}

bool loop::expire_due() noexcept {
    if (timers_.empty()) return false;
    i64 now_ns = monotonic_ns();
    worker* w = self();
    bool any = false;
    while (timer_node* a = timers_.due(now_ns)) {
        a->expire(*this, now_ns);
        if (unlikely(w->starts)) this_loop().start_all();
        any = true;
    }
    return any;
}

namespace {

// While it lives, the worker is inside of its own loop.
class staying {
    worker* w_;

public:
    explicit staying(worker* w) noexcept : w_(w) {
        if (w->io->lending.take_back()) came_back(w);
        w->inside = w->io;
    }
    staying(const staying&) = delete;
    staying& operator=(const staying&) = delete;
    ~staying() {
        w_->inside = nullptr;
        w_->io->lending.lend();
    }
};

} // namespace

bool loop::poll() {
    worker* w = self();
    bool any;
    {
        staying here(w);
        any = kernel_->poll(*this); // first: the steps below may free channels of pending events
        any |= expire_due();
        any |= start_all();
        any |= flush_all();
        any |= read_mail();
    }
    return served_count_ > 0 ? poll_served(w) || any : any;
}

bool loop::serve(poller& other) {
    auto& l = static_cast<loop&>(other);
    worker* w = self();
    if (served_ == nullptr)
        served_ = static_cast<loop**>(buffer_new(worker_count(), sizeof(loop*)));
    if (!l.lending.take(w->id)) return false;
    bool known = false;
    for (int i = 0; i < served_count_; i++) known = known || served_[i] == &l;
    if (!known) served_[served_count_++] = &l;
    l.lending.leave();
    return true;
}

// The handlers that ran here have left their output and new channels with this loop, not with the
// one that was served.
bool loop::poll_served(worker* w) noexcept {
    bool any = false;
    for (int i = 0; i < served_count_;) {
        loop& l = *served_[i];
        if (!l.lending.enter(w->id)) {
            served_[i] = served_[--served_count_];
            continue;
        }
        w->inside = &l;
        any |= l.kernel_->poll(l);
        any |= l.expire_due();
        any |= l.flush_all();
        any |= l.read_mail();
        w->inside = nullptr;
        bool back = !l.lending.away();
        l.lending.leave();
        if (back) l.wake_owner(); // it may wait, and does not know what was added here
        i++;
    }
    staying here(w);
    any |= start_all();
    any |= flush_all();
    return any;
}

// Whether there is nothing to do until the limit, which becomes that of the next timer.
bool loop::settle(bool owner, i64& limit_ns) noexcept {
    if (!timers_.empty()) {
        i64 until_ns = timers_.next_ns() - monotonic_ns();
        if (until_ns <= 0) return false;
        if (limit_ns < 0 || until_ns < limit_ns) limit_ns = until_ns;
    }
    bool mail = unread_ != nullptr || mail_.load(order::seq_cst) != nullptr;
    if (unflushed_ != nullptr || (mail && (owner || kernel_->has_room()))) return false;
    return kernel_->settle(owner);
}

void loop::wait(i64 timeout_us) {
    if (starting_ != nullptr) return;
    worker* w = self();
    i64 limit_ns = timeout_us < 0 ? -1 : timeout_us * 1000;
    {
        staying here(w);
        if (served_count_ == 0 && lending.owned()) {
            if (unflushed_ != nullptr || unread_ != nullptr) return;
            if (!timers_.empty()) {
                i64 until_ns = timers_.next_ns() - monotonic_ns();
                if (until_ns <= 0) return;
                if (limit_ns < 0 || until_ns < limit_ns) limit_ns = until_ns;
            }
            asleep_.store(in_reactor, order::seq_cst);
            if (mail_.load(order::seq_cst) == nullptr && woken_.load(order::seq_cst) == 0)
                kernel_->wait(limit_ns);
            asleep_.store(awake, order::relaxed);
            woken_.store(0, order::relaxed);
            return;
        }
    }
    wait_for_several(w, limit_ns);
}

// Waits for events of this loop and of those that it serves, inside of none: a worker that comes
// back finds its loop free.
void loop::wait_for_several(worker* w, i64 limit_ns) noexcept {
    pollfd alarms[most_loops + 2];
    loop* waiting[most_loops + 2];
    nfds_t n = 2;
    alarms[0] = {bell_, POLLIN, 0};
    alarms[1] = {kernel_->alarm(), POLLIN, 0};
    bool idle;
    {
        staying here(w);
        asleep_.store(in_ppoll, order::seq_cst);
        idle = settle(true, limit_ns) && woken_.load(order::seq_cst) == 0;
    }
    for (int i = 0; i < served_count_;) {
        loop& l = *served_[i];
        if (!l.lending.enter(w->id)) {
            served_[i] = served_[--served_count_];
            continue;
        }
        l.guests_asleep_.fetch_add(1, order::seq_cst);
        idle = l.settle(false, limit_ns) && idle;
        alarms[n] = {l.kernel_->alarm(), POLLIN, 0};
        waiting[n++] = &l;
        l.lending.leave();
        i++;
    }
    if (idle) {
        timespec limit{.tv_sec = limit_ns / 1'000'000'000, .tv_nsec = limit_ns % 1'000'000'000};
        ppoll(alarms, n, limit_ns < 0 ? nullptr : &limit, nullptr);
    }
    for (nfds_t i = 2; i < n; i++) waiting[i]->guests_asleep_.fetch_sub(1, order::seq_cst);
    asleep_.store(awake, order::relaxed);
    woken_.store(0, order::relaxed);
    u64 count;
    if (alarms[0].revents != 0) (void)!::read(bell_, &count, sizeof count);
}

} // namespace eve

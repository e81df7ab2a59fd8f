#include "loop.hpp"

#include "fail.hpp"
#include "pool.hpp"
#include "socket.hpp"
#include "worker.hpp"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

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

// The core makes its pollers by this function when io is linked in. SIGPIPE is ignored: a write to
// a closed connection gives an error.
[[gnu::constructor]] void offer_loops() {
    signal(SIGPIPE, SIG_IGN);
    make_poller = [](worker*) -> poller* { return new loop; };
}

} // namespace

namespace {

spin_lock list_guard;
stoppable* newest;
atomic<u8> shutting;

} // namespace

void stoppable::enter(header* object) noexcept {
    locked l(list_guard);
    object_ = object;
    older_ = newest;
    if (newest != nullptr) newest->newer_ = this;
    newest = this;
}

void stoppable::leave() noexcept {
    locked l(list_guard);
    if (object_ == nullptr) return;
    object_ = nullptr;
    if (older_ != nullptr) older_->newer_ = newer_;
    if (newer_ != nullptr) newer_->older_ = older_;
    else newest = older_;
    older_ = newer_ = nullptr;
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
            s->object_->keep();
            all[n++] = {s, s->object_};
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

loop::loop() noexcept : kernel_(make_reactor()), scratch_(static_cast<u8*>(malloc(scratch_bytes))) {
    if (scratch_ == nullptr) die_out_of_memory();
    for (u32 i = 0; i < most_loops; i++) {
        loop* unused = nullptr;
        if (loops[i].compare_exchange(unused, this, order::acq_rel, order::relaxed)) break;
    }
}

loop::~loop() {
    wait_for_blocking(); // the last step of a call is its mail to a loop
    for (u32 i = 0; i < most_loops; i++) {
        loop* me = this;
        if (loops[i].compare_exchange(me, nullptr, order::acq_rel, order::relaxed)) break;
    }
    free(scratch_);
    delete kernel_;
}

loop& this_loop() noexcept { return *static_cast<loop*>(self()->io); }

loop& next_loop() noexcept {
    u32 n = static_cast<u32>(worker_count());
    u32 i = turn.fetch_add(1, order::relaxed) % (n < most_loops ? n : most_loops);
    loop* l = loops[i].load(order::acquire);
    return l != nullptr ? *l : this_loop(); // that worker has not started yet
}

void loop::mail(channel& c, u32 what) noexcept {
    if (c.mail.fetch_or(what, order::acq_rel) != 0) return;
    channel* head = mail_.load(order::relaxed);
    do c.next_mail = head;
    while (!mail_.compare_exchange(head, &c, order::seq_cst, order::relaxed));
    if (asleep_.load(order::seq_cst) != 0) kernel_->wake();
}

void loop::update(channel& c) noexcept {
    if (kernel_->updates_anywhere() || (self() != nullptr && self()->io == this))
        kernel_->update(c);
    else mail(c, mail_update);
}

void loop::start_later(channel& c) noexcept {
    c.next_start = starting_ != nullptr ? starting_->next_start : &c;
    if (starting_ != nullptr) starting_->next_start = &c;
    starting_ = &c;
}

void loop::flush_later(socket& s) noexcept {
    s.next_unflushed = unflushed_;
    unflushed_ = &s;
}

bool loop::read_mail() noexcept {
    channel* c =
        mail_.load(order::relaxed) != nullptr ? mail_.exchange(nullptr, order::seq_cst) : nullptr;
    bool any = c != nullptr;
    while (c != nullptr) {
        channel* next = c->next_mail;
        u32 what = c->mail.exchange(0, order::acq_rel);
        if (what & mail_update) {
            locked l(c->guard);
            kernel_->update(*c);
        }
        if (what & ~mail_update) c->mailed(*this, what & ~mail_update);
        c = next;
    }
    return any;
}

// In the order in which they were made: a listener starts before a connection to it.
bool loop::start_all() noexcept {
    if (starting_ == nullptr) return false;
    channel* c = starting_->next_start;
    starting_->next_start = nullptr;
    starting_ = nullptr;
    while (c != nullptr) {
        channel* next = c->next_start;
        c->start(*this);
        c = next;
    }
    return true;
}

bool loop::flush_all() noexcept {
    socket* s = unflushed_;
    unflushed_ = nullptr;
    bool any = s != nullptr;
    while (s != nullptr) {
        socket* next = s->next_unflushed;
        if (!kernel_->send(*this, *s)) {
            s->flush();
            header_of(*s)->drop();
        }
        s = next;
    }
    if (any) kernel_->send_all();
    return any;
}

bool loop::expire_due() noexcept {
    if (timers_.empty()) return false;
    i64 now_ns = monotonic_ns();
    bool any = false;
    while (timer_node* a = timers_.due(now_ns)) {
        a->expire(*this, now_ns);
        any = true;
    }
    return any;
}

void loop::wait(i64 timeout_us) {
    if (unflushed_ != nullptr || starting_ != nullptr) return;
    i64 limit_ns = timeout_us < 0 ? -1 : timeout_us * 1000;
    if (!timers_.empty()) {
        i64 until_ns = timers_.next_ns() - monotonic_ns();
        if (until_ns <= 0) return;
        if (limit_ns < 0 || until_ns < limit_ns) limit_ns = until_ns;
    }
    asleep_.store(1, order::seq_cst);
    if (mail_.load(order::seq_cst) == nullptr) kernel_->wait(limit_ns);
    asleep_.store(0, order::relaxed);
}

bool loop::poll() {
    bool any = kernel_->poll(*this); // first: the steps below may free channels of pending events
    any |= expire_due();
    any |= start_all();
    any |= flush_all();
    any |= read_mail();
    return any;
}

} // namespace eve

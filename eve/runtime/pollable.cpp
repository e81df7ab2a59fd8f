#include "pollable.hpp"

#include "worker.hpp"

#include <errno.h>
#include <unistd.h>

namespace eve {

const int pollable::closed_error = EBADF;

int pollable::last_errno() noexcept { return errno; }

void pollable::line::add(polled& what) noexcept {
    what.next_polled = nullptr;
    if (first == nullptr) first = &what;
    else last->next_polled = &what;
    last = &what;
}

polled* pollable::line::take() noexcept {
    polled* what = first;
    if (what != nullptr) first = what->next_polled;
    return what;
}

bool pollable::line::remove(const polled& what) noexcept {
    polled* before = nullptr;
    for (polled* p = first; p != nullptr; before = p, p = p->next_polled) {
        if (p != &what) continue;
        (before == nullptr ? first : before->next_polled) = p->next_polled;
        if (last == p) last = before;
        return true;
    }
    return false;
}

void pollable::finish_all(line& over) {
    while (polled* p = over.take()) p->finish();
}

pollable::pollable(int owned, bool stops) noexcept : stoppable(kind::other), stops_(stops) {
    fd = owned;
    home = &this_loop();
}

u8 pollable::wanted() const noexcept {
    if (closed_) return 0;
    return static_cast<u8>((lines_[0].first != nullptr ? io_in : 0) |
                           (lines_[1].first != nullptr ? io_out : 0));
}

// Under the guard. It is in the list while something waits, which holds the object.
void pollable::list() noexcept {
    bool waits = stops_ && wanted() != 0;
    if (waits == listed_) return;
    listed_ = waits;
    if (waits) enter();
    else leave();
}

void pollable::begin(polled& what, u8 direction) {
    header* object = of_; // may be left by all others while this goes on
    object->keep();
    bool over = true;
    {
        locked l(guard);
        line& to = lines_[direction == io_out];
        if (closed_) {
            what.refuse(closed_error);
        } else if (to.first != nullptr || !what.attempt(fd)) {
            over = false;
            to.add(what);
            list();
            if ((wanted() & ~have) != 0) home->update(*this);
        }
    }
    if (over) what.finish();
    else if (stops_ && ending()) close(nullptr);
    object->drop();
}

bool pollable::give_up(polled& what) noexcept {
    locked l(guard);
    bool waited = lines_[0].remove(what) || lines_[1].remove(what);
    list();
    return waited;
}

// Epoll keeps the interest until it reports something that nobody waits for: so a server that
// waits again at once costs no more calls.
void pollable::ready(loop&, u8) {
    line over;
    {
        locked l(guard);
        bool waited = wanted() != 0;
        for (line& from : lines_)
            while (from.first != nullptr && from.first->attempt(fd)) over.add(*from.take());
        list();
        if (wanted() != 0 || !waited) home->update(*this);
    }
    finish_all(over);
}

// Under the guard. Once; then the loop gets mail_retire, without the guard. The process waits until
// the loop has let it go.
void pollable::end() noexcept {
    closed_ = true;
    list();
    arm();
}

// What waited is finished before the loop can finish `then`.
void pollable::close(polled* then) noexcept {
    line over;
    bool first;
    {
        locked l(guard);
        first = !closed_;
        if (first) {
            for (line& from : lines_) {
                while (polled* p = from.take()) {
                    p->refuse(closed_error);
                    over.add(*p);
                }
            }
            end();
        }
        if (then != nullptr) (retired_ ? over : closing_).add(*then);
    }
    finish_all(over); // which may free it, if it was closed before
    if (first) home->mail(*this, mail_retire);
}

void pollable::mailed(loop& on, u32) {
    if (!on.forget(*this)) return; // the ring sends the mail again
    line over;
    bool gone;
    {
        locked l(guard);
        ::close(fd);
        fd = -1;
        retired_ = true;
        over = closing_;
        closing_ = line();
        gone = forsaken_;
    }
    disarm();
    if (gone) destroy(this);
    else finish_all(over); // which may free it
}

// Objects of modules outlive the loops.
void pollable::forsake() noexcept {
    if (self() == nullptr) {
        if (fd >= 0) ::close(fd);
        destroy(this);
        return;
    }
    bool gone, first;
    {
        locked l(guard);
        forsaken_ = true;
        gone = retired_;
        first = !closed_;
        if (first) end();
    }
    if (gone) destroy(this);
    else if (first) home->mail(*this, mail_retire);
}

} // namespace eve

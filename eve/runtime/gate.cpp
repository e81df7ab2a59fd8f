#include "gate.hpp"
#include "threads.hpp"

// Each mutation is an error that the tests must find.
#ifdef EVE_MUTATE_READERS
static constexpr bool mind_readers = false;
#else
static constexpr bool mind_readers = true;
#endif

namespace eve {

void gate::lock() noexcept {
    for (spinning s;; s.turn()) {
        u32 seen = word_.load(order::relaxed);
        if (!(seen & locked) &&
            word_.compare_exchange(seen, seen | locked, order::acquire, order::relaxed))
            return;
    }
}

void gate::unlock() noexcept { word_.store(word_.load(order::relaxed) & ~locked, order::release); }

bool gate::join(slot* s) noexcept {
    u32 word = word_.load(order::relaxed);
    bool readers_in = mind_readers && word >= reader;
    if (!(word & (writer | queued)) && !(s->write && readers_in)) {
        s->granted = true;
        word_.store(s->write ? word | writer : word + reader, order::relaxed);
        return true;
    }
    s->next = last_ ? last_->next : s;
    if (last_) last_->next = s;
    last_ = s;
    word_.store(word | queued, order::relaxed);
    return false;
}

bool gate::join_first(slot* s) noexcept {
    u32 word = word_.load(order::relaxed);
    if (!(word & (writer | queued)) && !(s->write && word >= reader)) return join(s);
    s->next = last_ ? last_->next : s;
    if (last_) last_->next = s;
    else last_ = s;
    word_.store(word | queued, order::relaxed);
    return false;
}

// Takes the next writer, or all readers before the next writer, out of the queue. Under the lock,
// while nobody holds the permission.
slot* gate::admit(u32& word) noexcept {
    slot* first = last_->next;
    slot* end = first;
    end->granted = true;
    if (first->write) {
        word |= writer;
    } else {
        word += reader;
        while (end != last_ && !end->next->write) {
            end = end->next;
            end->granted = true;
            word += reader;
        }
    }
    if (end == last_) {
        last_ = nullptr;
        word &= ~queued;
    } else {
        last_->next = end->next;
    }
    end->next = nullptr;
    return first;
}

slot* gate::give_back_slowly(bool write, bool* died) noexcept {
    lock();
    u32 word = word_.load(order::relaxed) & ~locked;
    word = write ? word & ~writer : word - reader;
    slot* now = nullptr;
    if (last_ && !(word & writer) && word < reader) now = admit(word);
    *died = word == orphan;
    word_.store(word, order::release); // from here on other threads may end the object
    return now;
}

bool gate::orphaned() noexcept {
    if (word_.load(order::acquire) == 0) return true; // without handles no other task can come
    lock();
    u32 word = word_.load(order::relaxed) & ~locked;
    bool alone = word == 0;
    word_.store(alone ? word : word | orphan, order::release);
    return alone;
}

} // namespace eve

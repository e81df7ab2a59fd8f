#pragma once
// The permission on one object: one writer or many readers, first come, first served. A task that
// does not get it at once waits as a slot in the gate's queue. The task that gives it back hands
// it to the next one. So no thread waits, and no waiter is polled.
//
//   if (g.take_now(true)) { ...; slot* next = g.give_back(true); }
//
// The word: bit 0: there is a writer; bit 1: the queue is locked; bit 2: the queue is not empty;
// bit 3: the object has no handle left; above them the number of readers. The word of a free gate
// is 0: taking and giving back are one CAS each.
#include "atomic.hpp"

namespace eve {

struct gate;
struct task;

// A task's place in one gate's queue.
struct slot {
    gate* at = nullptr;
    slot* next = nullptr; // the next in the queue, or in a list of granted slots
    task* owner = nullptr;
    bool write = false;
    bool granted = false; // changed under the gate's lock. For reports only
};

struct gate {
    static constexpr u32 writer = 1, locked = 2, queued = 4, orphan = 8, reader = 16;

    constexpr gate() noexcept {}
    constexpr explicit gate(u32 word) noexcept : word_(word) {}

    // Any thread. Takes the permission if it is free and nobody waits for it.
    bool take_now(bool write) noexcept {
        u32 seen = word_.load(order::relaxed);
        if (write)
            return seen == 0 &&
                   word_.compare_exchange(seen, writer, order::acquire, order::relaxed);
        while (!(seen & (writer | locked | queued)))
            if (word_.compare_exchange(seen, seen + reader, order::acquire, order::relaxed))
                return true;
        return false;
    }

    // For a holder, once. Returns the slots that have the permission now, linked by next: their
    // tasks wait for one permission less. If *died is set, the object has neither a handle nor a
    // task: the caller ends it.
    slot* give_back(bool write, bool* died) noexcept {
        u32 seen = word_.load(order::relaxed);
        if (write) {
            if (seen == writer && word_.compare_exchange(seen, 0, order::release, order::relaxed))
                return nullptr;
        } else {
            while (!(seen & (locked | queued | orphan)))
                if (word_.compare_exchange(seen, seen - reader, order::release, order::relaxed))
                    return nullptr;
        }
        return give_back_slowly(write, died);
    }

    // Any thread. To put a task into several queues as one step, the caller locks all its gates in
    // the order of their addresses, joins their queues, and unlocks them.
    void lock() noexcept;
    void unlock() noexcept;
    // Between lock and unlock. True: the slot has the permission at once. False: it waits in the
    // queue.
    bool join(slot* s) noexcept;
    // The same, but it waits before all others.
    bool join_first(slot* s) noexcept;

    // Called once, when the last handle is gone. True: nobody holds the permission either, and the
    // caller ends the object. False: the last holder ends it.
    bool orphaned() noexcept;

    // Any thread, for reports: how many tasks hold it, and whether to write.
    u32 readers() const noexcept { return word_.load(order::relaxed) / reader; }
    bool written() const noexcept { return word_.load(order::relaxed) & writer; }
    bool waited_for() const noexcept { return word_.load(order::relaxed) & queued; }

protected:
    // The last slot of the queue, a circular list: last_->next is the first. Under the lock. In a
    // dead object the field is free for other use.
    slot* last_ = nullptr;

private:
    slot* give_back_slowly(bool write, bool* died) noexcept;
    slot* admit(u32& word) noexcept;

    atomic<u32> word_{0};
};

} // namespace eve

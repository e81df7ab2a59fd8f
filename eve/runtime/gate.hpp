#pragma once
// The permission on one thing: one writer or many readers, first come, first served. Who does not
// get it at once waits as a slot in the gate's queue, and whoever gives it back hands it to the
// next: no thread waits, no waiter is polled.
//
//   if (g.take_now(true)) { ...; slot* next = g.give_back(true); }
//
// The word: bit 0 a writer is in, bit 1 the queue is being changed, bit 2 somebody waits, bit 3 the
// object has no handle left, above that the number of readers. Free of all, it is 0: taking and
// giving back is one CAS each.
#include "atomic.hpp"

namespace eve {

struct gate;
struct task;

// A task's place in one gate's queue.
struct slot {
    gate* at = nullptr;
    slot* next = nullptr; // behind it in the queue, or in a list of granted slots
    task* owner = nullptr;
    bool write = false;
    bool granted = false; // changed under the gate's lock; read by reports only
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

    // Who holds it, once. The slots that have it now are returned, linked by next: their tasks
    // have one permission more. When *died is set the object has neither handle nor task: the
    // caller ends it.
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

    // Any thread. To put a task into several queues as one step, all its gates are locked in the
    // order of their addresses, joined, and unlocked.
    void lock() noexcept;
    void unlock() noexcept;
    // Between lock and unlock. Whether the slot has the permission at once; else it
    // waits in the queue.
    bool join(slot* s) noexcept;
    // The same, but it waits before all others.
    bool join_first(slot* s) noexcept;

    // Called once, when the last handle is gone. Whether nobody holds the permission either: the
    // caller then ends the object. Otherwise whoever gives it back last does.
    bool orphaned() noexcept;

    // Any thread, for reports: how many hold it, and whether to write.
    u32 readers() const noexcept { return word_.load(order::relaxed) / reader; }
    bool written() const noexcept { return word_.load(order::relaxed) & writer; }
    bool waited_for() const noexcept { return word_.load(order::relaxed) & queued; }

protected:
    // Of the queue, which is a ring: last_->next is the first. Under the lock. Free for other use
    // in a dead object.
    slot* last_ = nullptr;

private:
    slot* give_back_slowly(bool write, bool* died) noexcept;
    slot* admit(u32& word) noexcept;

    atomic<u32> word_{0};
};

} // namespace eve

#pragma once
// The right to use the data of a poller. Its owner lends it out whenever it runs a body, so that
// another worker can serve the poller while the body computes. As long as nobody does, lending and
// taking back cost the owner two stores and a load, none of them locked: another worker first
// makes all threads pass a fence, which is slow and rare.
//
//                 lend                       take
//      owned  ----------->  lent  ------------------------>  taken
//        ^    <-----------                                     |
//        |      take_back                                      |
//        +-----------------------------------------------------+
//            take_back, when no guest has a call under way
//
//   owned: the owner is inside.  lent: nobody is, and the owner runs a body.
//   taken: one at a time is inside, under a lock: guests, and the owner once it has come back.
//
//   if (io.lending.take(id)) { io.poll_inside(); io.lending.leave(); }
#include "lock.hpp"

namespace eve {

// Whether the kernel can make all threads of the process pass a fence (membarrier(2)); else the
// owner uses locked operations. Set by prepare_fences before the workers start.
extern constinit bool remote_fences;
void prepare_fences() noexcept;

class loan {
public:
    // Owner only, outside. It is inside afterwards; it waits while another worker is. Returns
    // whether the poller was taken meanwhile.
    bool take_back() noexcept {
        announce();
        if (likely(taken_.load(order::acquire) == 0)) return false;
        return come_back();
    }
    // Owner only, outside, for a few steps in the middle of a body: a poller that was taken stays
    // so.
    void visit() noexcept {
        announce();
        if (unlikely(taken_.load(order::acquire) != 0)) visit_taken();
    }
    // Owner only, inside. The end of take_back and of visit.
    void lend() noexcept {
        if (likely(owned())) inside_.store(0, order::release);
        else lock_.unlock();
    }
    // Owner only, inside. No other worker can come in until it lends.
    bool owned() const noexcept { return inside_.load(order::relaxed) != 0; }

    // Any other worker. Takes the poller, unless its owner or another worker is inside. True: the
    // caller is inside, and is the guest that serves the poller from now on.
    bool take(int by) noexcept;
    // The guest that serves it: inside again. False: the owner has come back, or another guest
    // serves it now.
    bool enter(int by) noexcept;
    // A guest. The end of take and enter.
    void leave() noexcept;
    // A guest, around a body that it runs.
    void step_out() noexcept { lock_.unlock(); }
    void step_in() noexcept { lock_.lock(); }

    // Any thread. Whether the owner is inside, or has not come back since the poller was taken;
    // and the guest that serves it. They may change at once.
    bool inside() const noexcept { return inside_.load(order::relaxed) != 0; }
    bool away() const noexcept { return away_.load(order::seq_cst) != 0; }
    int guest() const noexcept { return guest_.load(order::relaxed); }

private:
    void announce() noexcept {
        if (likely(remote_fences)) {
            inside_.store(1, order::relaxed);
            asm volatile("" ::: "memory"); // take has the fence for the processor
        } else {
            inside_.exchange(1, order::seq_cst);
        }
    }
    [[gnu::cold, gnu::noinline]] bool come_back() noexcept;
    [[gnu::cold, gnu::noinline]] void visit_taken() noexcept;

    atomic<u32> inside_{0}; // the owner is inside, without the lock; only the owner writes it
    atomic<u32> taken_{0};  // from here on whoever is inside has the lock. Changed under it
    atomic<u32> away_{0};
    atomic<int> guest_{-1};
    int calls_ = 0; // of guests, under way. Under the lock
    spin_lock lock_;
};

} // namespace eve

#pragma once
// Which workers sleep, and whether one searches. At most one searches at a time: who makes work
// wakes a searcher only when there is none, and a searcher that finds work wakes the next one. No
// wake-up is lost, since who makes work first makes it visible and then looks here, and who falls
// asleep first says so here and then looks for work.
//
//   int id = idle.call(); if (id >= 0) worker_at(id)->io->wake();
#include "lock.hpp"

namespace eve {

class idle_set {
public:
    static constexpr int most = 256; // workers

    // Any thread, when it has made work. The sleeper to wake, which is the searcher from now
    // on; -1: nobody.
    int call() noexcept;

    // An awake worker. Becomes the searcher, unless there is one.
    bool begin_search() noexcept;
    // The searcher, awake.
    void end_search() noexcept;

    // The worker itself. It is asleep from now on, and not the searcher any more.
    void enter(int id, bool searching) noexcept;
    // The worker itself, after enter. It is awake; true: somebody called it, so it is the searcher.
    bool leave(int id) noexcept;

    // Before the workers start.
    void forget() noexcept;

    // Any thread.
    bool anybody() const noexcept { return sleepers(word_.load(order::seq_cst)) != 0; }
    int count() const noexcept { return int(sleepers(word_.load(order::seq_cst))); }
    bool asleep(int id) const noexcept { return asleep_[id].load(order::relaxed) != 0; }

private:
    static constexpr u32 searching = 1u << 16;
    static constexpr u32 sleepers(u32 word) { return word & (searching - 1); }
    int wake() noexcept;

    spin_lock lock_;      // of all changes
    atomic<u32> word_{0}; // the number of sleepers, and `searching`
    atomic<u8> asleep_[most];
    int last_ = 0; // where the last one was found
};

} // namespace eve

#pragma once
// The sleeping workers, and whether one worker searches for work. At most one searches at a time:
// a worker that makes work wakes a searcher only when there is none, and a searcher that finds
// work wakes the next one. No wake-up is lost: a worker that makes work first makes it visible and
// then looks here, and a worker that falls asleep first enters here and then looks for work.
//
//   int id = idle.wake_one(); if (id >= 0) worker_at(id)->io->wake();
#include "lock.hpp"

namespace eve {

class idle_set {
public:
    static constexpr int most = 256; // workers

    // Any thread, after it has made work. Returns the sleeper to wake, which is the searcher from
    // now on; -1: none is needed.
    int wake_one() noexcept;

    // A worker that is awake. It becomes the searcher, unless there is one.
    bool begin_search() noexcept;
    // The searcher, awake.
    void end_search() noexcept;

    // The worker itself. It is asleep from now on, and is no longer the searcher.
    void enter(int id, bool searching) noexcept;
    // The worker itself, after enter. It is awake. True: it was woken, so it is the searcher.
    bool leave(int id) noexcept;

    // Before the workers start.
    void forget() noexcept;

    // Any thread.
    bool anybody() const noexcept { return sleepers(word_.load(order::seq_cst)) != 0; }
    int count() const noexcept { return int(sleepers(word_.load(order::seq_cst))); }
    // Says whether n workers sleep now. If `state` is the same later, they have slept all the time.
    bool all_asleep(int n, u64& state) const noexcept {
        state = word_.load(order::seq_cst);
        return sleepers(state) == u64(n);
    }
    bool same(u64 state) const noexcept { return word_.load(order::seq_cst) == state; }
    bool asleep(int id) const noexcept { return asleep_[id].load(order::relaxed) != 0; }

private:
    static constexpr u64 searching = 1u << 16;
    static constexpr u64 waking = u64(1) << 32; // one more sleeper that is awake again
    static constexpr u64 sleepers(u64 word) { return word & (searching - 1); }
    int wake() noexcept;

    spin_lock lock_;      // guards all changes
    atomic<u64> word_{0}; // the number of sleepers, `searching`, and how often one was woken
    atomic<u8> asleep_[most];
    int last_ = 0; // where the last sleeper was found
};

} // namespace eve

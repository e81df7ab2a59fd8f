#pragma once
// A finish whose children may want the same objects. Each object has a queue of its own in the
// scope, found by its address, so children that conflict run in the order of their spawns, while
// the world outside stays behind the root. Children that can run are a list; a frame is only a
// token that says "run one of them", so that waiting, stealing and helping are those of fork-join.
//
//   scope s(w, top);
//   s.spawn(child_4{...}, write(a), read(b));
//   s.join();
#include "forkjoin.hpp"
#include "lock.hpp"

namespace eve {

class scope {
public:
    scope(worker* w, frame* top) noexcept;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    // Owner only. Skips what has not started and waits for the rest, if join was not called.
    ~scope();

    // Owner, and the scope's children (then the new one starts when its spawner has ended, or
    // elsewhere). The body is a callable of (worker*, frame*).
    template <class F, class... Grants> void spawn(F&& body, Grants... grants) {
        constexpr int n = sizeof...(Grants);
        auto* t = create<task_of<bare<F>, n>>(forward<F>(body));
        grant list[n > 0 ? n : 1] = {grants...};
        add(t, t->slots_, list, n);
    }
    // Owner only. Waits for all children; throws the first failure. Children not started when it
    // came are skipped.
    void join();

    // Owner only. The first frame that is free for code between spawns.
    frame* top() const noexcept { return top_; }
    // Any thread. Whether a child has failed, here or in a scope around.
    bool failed() const noexcept;

private:
    friend void make_ready(task* t) noexcept;
    struct entry;

    void add(task* t, slot* slots, grant* grants, int n);
    gate* gate_of(const void* object);
    void grow();
    void ready(task* t) noexcept;
    task* next_ready() noexcept;
    void drain(worker* w, frame* top);
    void run(task* t, worker* w, frame* top) noexcept;
    void keep_failure() noexcept;
    void finish() noexcept;
    static void token(worker* w, frame* top, frame* me);

    static constexpr u32 few = 8; // buckets without allocation

    worker* w_;
    frame* from_;
    frame* top_;   // of the owner's tokens
    scope* outer_; // that the owner's body is a child of
    bool joined_ = false;
    spin_lock lock_; // guards what follows
    u32 buckets_ = few, entries_ = 0;
    task *head_ = nullptr, **tail_ = &head_; // children that can run
    atomic<u32> waiting_{0};                 // their number
    atomic<u32> failed_{0};
    void* failure_ = nullptr; // the first one
    entry** table_;
    entry* first_[few] = {};
};

} // namespace eve

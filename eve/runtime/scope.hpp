#pragma once
// A finish whose children may want the same objects. Each object has a queue of its own in the
// scope, found by its address, so conflicting children run in the order of their spawns. Other
// roots wait for the objects behind the scope's root, as usual. Ready children are a list, and a
// frame is only a token that says "run one of them". So waiting and stealing are those of
// fork-join.
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
    // Owner only. If join was not called, skips the children that have not started and waits for
    // the others.
    ~scope();

    // For the owner, and for children of the scope (the new child then starts after its spawner,
    // or on another worker). The body is a callable of (worker*, frame*).
    template <class F, class... Grants> void spawn(F&& body, Grants... grants) {
        constexpr int n = sizeof...(Grants);
        auto* t = create<task_of<bare<F>, n>>(forward<F>(body));
        grant list[n > 0 ? n : 1] = {grants...};
        add(t, t->slots_, list, n);
    }
    // Owner only. Waits for all children; throws the first failure. Children that had not started
    // then are skipped.
    void join();

    // Owner only. The first free frame for code between spawns.
    frame* top() const noexcept { return top_; }
    // Any thread, while a child of the scope waits for the gate or holds it: the object that the
    // gate is for.
    static const void* object_of(const gate* of) noexcept;
    // Any thread. Whether a child has failed, in this scope or in one around it.
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

    static constexpr u32 few = 8; // buckets that need no allocation

    worker* w_;
    frame* from_;
    frame* top_;   // of the owner's tokens
    scope* outer_; // the scope that the owner's body is a child of
    bool joined_ = false;
    spin_lock lock_; // guards the fields below
    u32 buckets_ = few, entries_ = 0;
    task *head_ = nullptr, **tail_ = &head_; // ready children
    atomic<u32> waiting_{0};                 // their number
    atomic<u32> failed_{0};
    void* failure_ = nullptr; // the first one
    entry** table_;
    entry* first_[few] = {};
};

} // namespace eve

#pragma once
// Fork and join. While nobody steals, a fork and its join cost a store and two compares. Each
// worker has a stack of frames. Frames below `split` are public: thieves steal the oldest by a CAS
// on the worker's word {tail, split}. Frames from `split` on are private, and need no atomic
// operation. A thief that finds no public frame sets `mark` to steal_requested. The worker sees
// that at its next push, pop or poll_steals, and publishes the older half of its private frames.
//
//   k->emplace<args>(n - 1); push(w, k, fib_thunk);          // spawn
//   i64 y = fib(w, k + 1, n - 2);
//   i64 x;
//   if (pop(w, k)) x = fib(w, k, n - 1);                     // join: not stolen
//   else { if (k->failed()) rethrow(k); x = k->as<i64>(); }  // a thief ran it
#include "worker.hpp"

namespace eve {

// Runs the child in `task`. The child's own children are pushed at `top` and above.
using thunk = void (*)(worker* w, frame* top, frame* task);

struct alignas(64) frame {
    // The state while a thief runs the frame: thief + the thief's id, and flags of the joining
    // worker.
    static constexpr u64 done = 1, failure_kept = 2, thief = 4, parked = 1 << 14, cancel = 1 << 15,
                         small = 1 << 16;

    atomic<u64> state{0}; // until it runs: the thunk's address, which is not below `small`
    alignas(8) unsigned char data[56];

    template <class T> T& as() noexcept {
        static_assert(sizeof(T) <= 56 && alignof(T) <= 8);
        return *__builtin_launder(reinterpret_cast<T*>(data));
    }
    // T must not need a destructor: a frame that is skipped is not destroyed.
    template <class T, class... Args> T& emplace(Args&&... args) {
        static_assert(sizeof(T) <= 56 && alignof(T) <= 8 && __has_trivial_destructor(T));
        return *new (place{data}) T{forward<Args>(args)...};
    }
    // For the joining worker, after pop has returned false.
    bool failed() const noexcept { return state.load(order::relaxed) == failure_kept; }
};
static_assert(sizeof(frame) == 64);

// The task-free clone runs only if the worker has this many private frames; 6 and 8 measured
// alike.
inline constexpr int enough_frames = 6;
// The lowest bit of `mark`, which is 0 in the address of a frame: the loop must call
// poll_and_check_now. The bit stays set while the root is over its time. It may be set without a
// reason.
inline constexpr u64 check_bit = 1;
// The value of `mark` while a thief waits. It is above every frame, so enough_ready is false.
inline constexpr u64 steal_requested = ~63ul | check_bit;

// Steals the oldest public frame of another worker. Null if there is none or another thief was
// faster. The caller must run it. Any worker.
frame* steal(worker* from) noexcept;
// Runs a stolen frame to its end, with `top` as the first free frame of the calling worker.
void run_stolen(worker* w, frame* top, frame* k) noexcept;
// Requests that the worker publish frames. Any worker.
void request_steal(worker* of) noexcept;
// Owner only. Whether a child that is not joined yet has failed on a thief. The result of the
// running code is not wanted then.
bool sibling_failed(const worker* w) noexcept;
// Any worker. Not exact.
inline bool has_public(const worker* w) noexcept {
    u64 seen = w->open.load(order::seq_cst);
    return (seen >> 32) < (seen & 0xFFFFFFFF);
}

// The slow paths. Owner only.
[[gnu::cold, gnu::noinline]] void publish_frames(worker* w, frame* top) noexcept;
[[gnu::cold, gnu::noinline]] bool pop_public(worker* w, frame* k) noexcept;
[[gnu::cold, gnu::noinline]] void poll_and_check_now(worker* w, frame* top, const site* at);

// Owner only. Publishes private frames if a thief has requested that. For back edges of loops that
// may run long.
[[gnu::always_inline]] inline void poll_steals(worker* w, frame* top) {
    if (unlikely(w->mark.load(order::relaxed) == steal_requested)) publish_frames(w, top);
}
// Owner only. poll_steals and check_budget in one test: for back edges without a known bound.
[[gnu::always_inline]] inline void poll_and_check(worker* w, frame* top, const site* at) {
    if (unlikely(w->mark.load(order::relaxed) & check_bit)) poll_and_check_now(w, top, at);
}
// Owner only. Pushes k, the next free frame, as a child that may run. Its arguments are already in
// the frame.
[[gnu::always_inline]] inline void push(worker* w, frame* k, thunk f) {
    k->state.store(reinterpret_cast<u64>(f), order::relaxed);
    poll_steals(w, k + 1);
}
// Owner only. Pops k, the newest frame. True: it was not stolen, and the caller runs or drops it.
// False: a thief has run it to its end. While pop waits for a thief, the worker runs other work.
[[gnu::always_inline]] inline bool pop(worker* w, frame* k) {
    poll_steals(w, k);
    return likely(k >= w->split) || pop_public(w, k);
}
// Owner only. Whether enough children are ready and no thief waits: the task-free clone may run.
[[gnu::always_inline]] inline bool enough_ready(worker* w, frame* k) {
    return reinterpret_cast<u64>(k) >= w->mark.load(order::relaxed);
}
// Owner only. Whether a loop may push another frame.
[[gnu::always_inline]] inline bool room(worker* w, frame* k) { return k < w->limit; }

// Throws the failure that a thief stored in k.
[[noreturn]] void rethrow(frame* k);
// A child that does nothing.
void no_op(worker* w, frame* top, frame* task);
// Owner only. Runs the thunk of a frame that was just popped, with k + 1 as top. Meanwhile k is a
// no-op among the worker's frames, which a thief may steal like any other, so it is joined once
// more. Code that calls the child directly, without its thunk, passes k as top and needs none of
// this.
inline void run_own(worker* w, frame* k) {
    struct closing {
        worker* w;
        frame* k;
        ~closing() { pop(w, k); }
    } at_end{w, k};
    auto run = reinterpret_cast<thunk>(k->state.load(order::relaxed));
    k->state.store(reinterpret_cast<u64>(&no_op), order::relaxed);
    run(w, k + 1, k);
}
// Owner only. Joins the frames from to - 1 down to `from`. Throws the first failure at the end;
// children that had not started are skipped. The result in a frame is lost, since children that
// are joined later use the frames above their own.
void join_all(worker* w, frame* from, frame* to);
// Owner only, for unwinding. Skips the children that have not started, cancels the others, and
// waits for them.
void abandon(worker* w, frame* from, frame* to) noexcept;

// Owner only. Joins in any case. If a failure leaves the block before join, it uses abandon.
class joiner {
    worker* w_;
    frame* from_;

public:
    frame* top;
    joiner(worker* w, frame* from) noexcept : w_(w), from_(from), top(from) {}
    joiner(const joiner&) = delete;
    joiner& operator=(const joiner&) = delete;
    ~joiner() { give_up(); }
    void give_up() noexcept {
        if (top == from_) return;
        abandon(w_, from_, top);
        top = from_;
    }
    void join() {
        frame* to = top;
        top = from_;
        join_all(w_, from_, to);
    }
};

// Owner only. Declared behind data that frames point to and that a joiner does not know. When a
// failure unwinds the block, it waits for the children before that data is destroyed.
class outlived {
    joiner& children_;

public:
    explicit outlived(joiner& children) noexcept : children_(children) {}
    outlived(const outlived&) = delete;
    outlived& operator=(const outlived&) = delete;
    ~outlived() { children_.give_up(); }
};

// Owner only. Holds the arguments of children that do not fit their frames or need a destructor.
// It is declared before the joiner, so the arguments are destroyed when no child needs them.
class argument_store {
    struct kept {
        kept* next;
        void (*end)(kept* self) noexcept;
    };
    template <class T> struct holding : kept {
        T value;
        explicit holding(kept* after, T&& x) : kept{after, drop}, value(static_cast<T&&>(x)) {}
        static void drop(kept* self) noexcept { destroy(static_cast<holding*>(self)); }
    };
    kept* first_ = nullptr;

public:
    argument_store() noexcept = default;
    argument_store(const argument_store&) = delete;
    argument_store& operator=(const argument_store&) = delete;
    ~argument_store() {
        while (kept* k = first_) {
            first_ = k->next;
            k->end(k);
        }
    }
    template <class T> T* keep(T x) {
        auto* k = create<holding<T>>(first_, static_cast<T&&>(x));
        first_ = k;
        return &k->value;
    }
};

// A part of a parallel loop, as stored in a frame.
template <class T, class F> struct loop_part {
    T* first;
    i64 count;
    F* body;
};

// A chunk is the part of a loop between two checks for steal requests. It takes at most this many
// ticks (about 10 us) and has at least one element. The bound below keeps the last chunk short.
inline constexpr u64 chunk_ticks = 30000;
inline constexpr i64 longest_chunk = 1 << 16;

template <class T, class F> void run_part(worker* w, frame* top, loop_part<T, F> p) {
    joiner children(w, top);
    i64 chunk = 1;
    while (p.count > 0) {
        if (p.count > 1 && w->mark.load(order::relaxed) == steal_requested &&
            room(w, children.top)) {
            i64 keep = p.count - p.count / 2;
            children.top->template emplace<loop_part<T, F>>(p.first + keep, p.count - keep, p.body);
            p.count = keep;
            push(w, children.top++,
                 [](worker* v, frame* k, frame* me) { run_part(v, k, me->as<loop_part<T, F>>()); });
        }
        i64 n = chunk < p.count ? chunk : p.count;
        u64 begin = ticks();
        for (i64 i = 0; i < n; i++) (*p.body)(w, children.top, p.first[i]);
        u64 spent = ticks() - begin;
        if (spent < chunk_ticks / 2 && chunk < longest_chunk) chunk *= 2;
        else if (spent > chunk_ticks && chunk > 1) chunk /= 2;
        p.first += n;
        p.count -= n;
    }
    children.join();
}

// Calls body(w, top, T&) for every element, on several workers at once. A part is split only when
// a thief has requested it.
template <class T, class F>
void parallel_for(worker* w, frame* top, T* first, i64 count, F&& body) {
    run_part(w, top, loop_part<T, bare<F>>{first, count, &body});
}
template <class S, class F> void parallel_for(worker* w, frame* top, S&& elements, F&& body) {
    parallel_for(w, top, elements.begin(), i64(elements.end() - elements.begin()), body);
}

} // namespace eve

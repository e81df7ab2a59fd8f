#pragma once
// Fork and join at the price of a store and two compares while nobody steals. Each worker has a
// stack of frames. Frames below `split` are public: thieves take the oldest by a CAS on the
// worker's word {tail, split}. Frames from `split` on are the worker's own, without any atomic
// operation. A thief that finds nothing public sets `mark` to hungry; the worker sees that at its
// next put, take or poll and publishes the older half of its own.
//
//   k->emplace<args>(n - 1); put(w, k, fib_thunk);           // spawn
//   i64 y = fib(w, k + 1, n - 2);
//   i64 x;
//   if (take(w, k)) x = fib(w, k, n - 1);                    // join: still ours
//   else { if (k->failed()) rethrow(k); x = k->as<i64>(); }  // a thief ran it
#include "worker.hpp"

namespace eve {

// Runs the child in `task`, whose own children go to `top` and above.
using thunk = void (*)(worker* w, frame* top, frame* task);

struct alignas(64) frame {
    // While a thief runs it: thief + the thief's id, and what the joining worker has added to it.
    static constexpr u64 done = 1, failure_kept = 2, thief = 4, parked = 1 << 14, cancel = 1 << 15,
                         small = 1 << 16;

    atomic<u64> state{0}; // the thunk's address while it waits, which is not small
    alignas(8) unsigned char data[56];

    template <class T> T& as() noexcept {
        static_assert(sizeof(T) <= 56 && alignof(T) <= 8);
        return *__builtin_launder(reinterpret_cast<T*>(data));
    }
    // T must not need a destructor: a frame that is skipped is not ended.
    template <class T, class... Args> T& emplace(Args&&... args) {
        static_assert(sizeof(T) <= 56 && alignof(T) <= 8 && __has_trivial_destructor(T));
        return *new (place{data}) T{forward<Args>(args)...};
    }
    // Who joined it, after take said false.
    bool failed() const noexcept { return state.load(order::relaxed) == failure_kept; }
};
static_assert(sizeof(frame) == 64);

// So many private frames must stand ready before the task-free clone runs; 6 and 8 measured alike.
inline constexpr int rich_frames = 6;
// The lowest bit of `mark`, where no address of a frame has one: a loop has to attend to something.
// It stays set for as long as the root is over its time, and may be set for nothing.
inline constexpr u64 attention = 1;
// The value of `mark` that is above every frame, so that nobody is rich while a thief waits.
inline constexpr u64 hungry = ~63ul | attention;

// The oldest public frame of another worker, which the caller now has to run; null if there is none
// or another thief was faster. Any worker.
frame* claim(worker* from) noexcept;
// Runs a claimed frame to its end, with `top` as the first free frame of the calling worker.
void run_claimed(worker* w, frame* top, frame* k) noexcept;
// Asks the worker to publish frames. Any worker.
void ask(worker* of) noexcept;
// Owner only. Whether a thief has kept a failure of a child that is not joined yet: what runs now
// is wanted no more.
bool sibling_failed(const worker* w) noexcept;
// Any worker, not exact.
inline bool has_public(const worker* w) noexcept {
    u64 seen = w->open.load(order::seq_cst);
    return (seen >> 32) < (seen & 0xFFFFFFFF);
}

// The slow paths. Owner only.
[[gnu::cold, gnu::noinline]] void share(worker* w, frame* top) noexcept;
[[gnu::cold, gnu::noinline]] bool take_back(worker* w, frame* k) noexcept;
[[gnu::cold, gnu::noinline]] void attend_now(worker* w, frame* top, const site* at);

// Owner only. Publishes private frames if somebody asked. Stands on back edges of loops
// that may run long.
[[gnu::always_inline]] inline void poll(worker* w, frame* top) {
    if (unlikely(w->mark.load(order::relaxed) == hungry)) share(w, top);
}
// Owner only. poll and pulse in one test: for back edges that nothing bounds.
[[gnu::always_inline]] inline void attend(worker* w, frame* top, const site* at) {
    if (unlikely(w->mark.load(order::relaxed) & attention)) attend_now(w, top, at);
}
// Owner only. Makes k, the next free frame, a child that may run. Its data stands in it already.
[[gnu::always_inline]] inline void put(worker* w, frame* k, thunk f) {
    k->state.store(reinterpret_cast<u64>(f), order::relaxed);
    poll(w, k + 1);
}
// Owner only, k the newest frame. True: it is ours, to be run or dropped. False: a thief has run it
// to its end. While it waits for a thief, the worker runs other things.
[[gnu::always_inline]] inline bool take(worker* w, frame* k) {
    poll(w, k);
    return likely(k >= w->split) || take_back(w, k);
}
// Owner only. Whether enough children stand ready and nobody asks for more: the
// task-free clone may run.
[[gnu::always_inline]] inline bool rich(worker* w, frame* k) {
    return reinterpret_cast<u64>(k) >= w->mark.load(order::relaxed);
}
// Owner only. Whether a loop may put another frame.
[[gnu::always_inline]] inline bool room(worker* w, frame* k) { return k < w->limit; }

// The failure that a thief kept in k.
[[noreturn]] void rethrow(frame* k);
// A child that does nothing.
void hole(worker* w, frame* top, frame* task);
// Owner only. Runs the thunk of a frame just taken, with k + 1 as top. Meanwhile k is a hole among
// the worker's frames, which a thief may take as any other, so it is joined once more. Code that
// calls the child directly, without its thunk, has k as its top and needs none of this.
inline void run_own(worker* w, frame* k) {
    struct closing {
        worker* w;
        frame* k;
        ~closing() { take(w, k); }
    } at_end{w, k};
    auto run = reinterpret_cast<thunk>(k->state.load(order::relaxed));
    k->state.store(reinterpret_cast<u64>(&hole), order::relaxed);
    run(w, k + 1, k);
}
// Owner only. Joins frames to - 1 down to from. The first failure is thrown at the end; what had
// not started is skipped. What a child leaves in its frame is lost, since the ones joined later use
// the frames above their own.
void join_all(worker* w, frame* from, frame* to);
// Owner only, for unwinding. Skips what was not started, tells the rest that it is not wanted,
// and waits for it.
void abandon(worker* w, frame* from, frame* to) noexcept;

// Owner only. Joins in any case: by abandon, if a failure leaves the block before join.
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

// Owner only. Stands behind what frames point to and a joiner does not know: on the way out of a
// failure the children that are still under way are waited for before any of it goes.
class outlived {
    joiner& children_;

public:
    explicit outlived(joiner& children) noexcept : children_(children) {}
    outlived(const outlived&) = delete;
    outlived& operator=(const outlived&) = delete;
    ~outlived() { children_.give_up(); }
};

// Owner only. Keeps the arguments of children that do not fit their frames or need a destructor. It
// stands before the joiner, so that they go when no child needs them any more.
class keeper {
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
    keeper() noexcept = default;
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    ~keeper() {
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

// A part of a parallel loop, as it lies in a frame.
template <class T, class F> struct loop_part {
    T* first;
    i64 count;
    F* body;
};

// A chunk of a loop between two looks at whether somebody is hungry: at most so many ticks (about
// 10 us), but at least one element, and not more than a bound that keeps the last chunk short.
inline constexpr u64 chunk_ticks = 30000;
inline constexpr i64 longest_chunk = 1 << 16;

template <class T, class F> void run_part(worker* w, frame* top, loop_part<T, F> p) {
    joiner children(w, top);
    i64 chunk = 1;
    while (p.count > 0) {
        if (p.count > 1 && w->mark.load(order::relaxed) == hungry && room(w, children.top)) {
            i64 keep = p.count - p.count / 2;
            children.top->template emplace<loop_part<T, F>>(p.first + keep, p.count - keep, p.body);
            p.count = keep;
            put(w, children.top++,
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

// body(w, top, T&) for every element, on several workers at once; cut in two only where
// somebody is hungry.
template <class T, class F>
void parallel_for(worker* w, frame* top, T* first, i64 count, F&& body) {
    run_part(w, top, loop_part<T, bare<F>>{first, count, &body});
}
template <class S, class F> void parallel_for(worker* w, frame* top, S&& elements, F&& body) {
    parallel_for(w, top, elements.begin(), i64(elements.end() - elements.begin()), body);
}

} // namespace eve

#pragma once
// Roots: tasks that hold all their objects from their start to their end. A root is put into the
// queues of all its objects in one step, so any two roots are in the same order in all queues. So
// there is no cycle of waits, and conflicting tasks run in the order of their spawns.
//
//   spawn(task_17{message, c}, read(message), write(c));
#include "object.hpp"
#include "recording.hpp"

namespace eve {

struct worker;
struct frame;
struct task;
class scope;

// A permission that a task needs. In a scope the object may be any address.
struct grant {
    const void* object;
    bool write;
};

template <class T> grant read(const ref<T>& r) noexcept { return {r.object(), false}; }
template <class T> grant write(const ref<T>& r) noexcept { return {r.object(), true}; }
template <class T> grant read(const built<T>& b) noexcept { return {b.handle().object(), false}; }
template <class T> grant write(const built<T>& b) noexcept { return {b.handle().object(), true}; }
// Only for the children of a scope: a built object without a header is known by its address.
template <class T> grant read(const T& place) noexcept { return {&place, false}; }
template <class T> grant write(const T& place) noexcept { return {&place, true}; }

struct task_kind {
    void (*run)(task*, worker*, frame* top);
    void (*end)(task*) noexcept; // destroys the captures and frees the memory
    body_code what;
};

struct task {
    const task_kind* kind;
    task* next = nullptr;  // in a list of ready tasks
    slot* slots = nullptr; // one for each object, none twice
    scope* home = nullptr; // of a child; null for a root
    // permissions that it still waits for, and 1 while it is being put into the queues
    atomic<u32> missing{1};
    u16 count = 0; // of slots
    // its failure closes the objects that it holds; else the failure ends the process
    bool contained = false;
    // in the list of all roots, while EVE_TRACE is set; its number, while a recording is made
    union {
        task* older = nullptr;
        u64 number;
    };
    task* newer = nullptr;

    constexpr task(const task_kind* k) noexcept : kind(k) {}
};

// Any thread. Counts and lists a root that is about to be enqueued.
void begin_root(task* t) noexcept;
// Any thread. Puts a task into the queues of its objects. If they are all free, it becomes ready.
void enqueue(task* t) noexcept;
// The same for a root with one object, in front of all waiters.
void enqueue_first(task* t) noexcept;
// Sorts the slots by address and merges those of one object; the stronger permission wins.
void fill(task* t, slot* slots, const grant* grants, int n) noexcept;
// For the worker that ran it: gives back all permissions. Tasks that can run now become ready.
void give_back_all(task* t) noexcept;
// Takes all permissions. False: one of them was not free or had waiters, and none was taken.
bool take_all_now(task* t) noexcept;
// After giving back: the task of each slot waits for one permission less.
void hand_over(slot* granted) noexcept;

template <class F, int N> struct task_of : task {
    slot slots_[N > 0 ? N : 1];
    F body_;

    explicit task_of(F&& body) : task{&kind_of}, body_(move(body)) {}
    explicit task_of(const F& body) : task{&kind_of}, body_(body) {}

    static void run(task* t, worker* w, frame* top) { static_cast<task_of*>(t)->body_(w, top); }
    static void end(task* t) noexcept { destroy(static_cast<task_of*>(t)); }
    static constexpr task_kind kind_of = {run, end, code_of<F>};
};

template <class F, class... Grants> task* make_task(F&& body, Grants... grants) {
    constexpr int n = sizeof...(Grants);
    auto* t = create<task_of<bare<F>, n>>(forward<F>(body));
    grant list[n > 0 ? n : 1] = {grants...};
    fill(t, t->slots_, list, n);
    return t;
}

// Any thread, inside a root or outside of all. The body is a callable of (worker*, frame*). It
// runs once, later, never inside its creator. The grants are evaluated before the body is moved.
template <class F, class... Grants> void spawn(F&& body, Grants... grants) {
    enqueue(make_task(forward<F>(body), grants...));
}
// The same, but a failure of the body closes the emitters that it holds to write, and the process
// goes on.
template <class F, class... Grants> void spawn_contained(F&& body, Grants... grants) {
    task* t = make_task(forward<F>(body), grants...);
    t->contained = true;
    enqueue(t);
}

// Only where a worker's poller handles events. If all objects are free and have no waiters, runs
// the body at once, as a root, and allocates nothing. False: nothing was done, and the caller must
// spawn it. Sorts and merges the grants.
bool run_now(void (*body)(void*, worker*, frame*), void* data, bool contained, grant* grants,
             int n);

template <class F, class... Grants> bool run_now(F& body, bool contained, Grants... grants) {
    constexpr int n = sizeof...(Grants);
    grant list[n > 0 ? n : 1] = {grants...};
    return run_now([](void* f, worker* w, frame* top) { (*static_cast<F*>(f))(w, top); }, &body,
                   contained, list, n);
}

} // namespace eve

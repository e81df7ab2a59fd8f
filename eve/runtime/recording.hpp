#pragma once
// Recordings of a run, for `eve trace`: which root ran when on which worker, what it waited for
// and who held that, steals, sleep, lent pollers. EVE_RECORD=FILE turns it on.
//
// Each worker has a ring of events. Nothing is allocated while the program runs; when a ring is
// full, its oldest events are overwritten, and counted. saving.hpp says when the file is written,
// and recording.md what is in it.
//
//   if (unlikely(recording.on)) record(w, recorded::sleeps);
#include "base.hpp"

namespace eve {

struct frame;
struct gate;
struct header;
struct site;
struct task;
struct worker;

// The code of a task or handler, for reports.
struct body_code {
    const char* name;         // with the type of the body behind the first " = "
    const site* at = nullptr; // where the program has it; null: unknown
};

template <class F> constexpr const char* name_of() noexcept { return __PRETTY_FUNCTION__; }
template <class F> constexpr const site* place_of() noexcept {
    if constexpr (requires { F::place_; }) return F::place_;
    else return nullptr;
}
template <class F> inline constexpr body_code code_of = {name_of<F>(), place_of<F>()};

// Written before the workers start. It has a cache line of its own, which nobody writes then.
struct alignas(64) recording_switch {
    bool on = false;
};
extern constinit recording_switch recording;

// The numbers are those of the file. `n`, `a` and `p` are the fields of an event.
enum class recorded : u8 {
    empty = 0,
    made = 1,        // a task; flags, n: its slots, a: its number, p: its body_code
    wants = 2,       // a slot of it; flags, n: the type's name, a: the task, p: the object
    granted = 3,     // to a task that waited; a: the task, p: the object
    begins = 4,      // a: the task
    body = 5,        // the task now runs this handler; p: its body_code
    ends = 6,        // flags; a: the task. What it holds is given back behind this
    sleeps = 7,      // the worker waits for events
    wakes = 8,       //
    polled = 9,      // and found events; a: when it began, in ticks
    took = 10,       // a root out of the queue of worker n; a: the task
    stolen = 11,     // runs a frame of worker n; p: its thunk
    stolen_end = 12, //
    joins = 13,      // waits for a frame that worker n runs; its own number: unknown
    joined = 14,     //
    serves = 15,     // takes the poller of worker n, which is in a long body
    back = 16,       // the worker comes back to its poller, which was taken
    gone = 17,       // the object at p has ended
    builds = 18,     // the running task has built the object at p, and holds it to write
    gives = 19,      // it gives back an object that it has built
};

// Flags of `made`, `wants` and `ends`.
inline constexpr u8 made_child = 1;     // of a scope
inline constexpr u8 made_at_once = 2;   // it runs now: all its objects were free
inline constexpr u8 wants_write = 1;    //
inline constexpr u8 wants_in_scope = 2; // the object may be a plain local: p has no header
inline constexpr u8 ends_keeps = 1;     // the task keeps its objects: output to a slow reader

// Owner only.
[[gnu::cold, gnu::noinline]] void record(worker* w, recorded what, u64 n = 0, u64 a = 0,
                                         const void* p = nullptr) noexcept;
// Any thread. Before the task joins the queues; gives it its number.
[[gnu::cold, gnu::noinline]] void record_made(task* t, bool at_once) noexcept;
// Any thread, while the task still waits for this permission.
[[gnu::cold, gnu::noinline]] void record_granted(const task* t, const gate* object) noexcept;
// Any thread. For `builds`, `gives` and `gone`.
[[gnu::cold, gnu::noinline]] void record_object(recorded what, const header* object) noexcept;
// Owner only.
[[gnu::cold, gnu::noinline]] void record_begins(worker* w, const task* t) noexcept;
[[gnu::cold, gnu::noinline]] void record_ends(worker* w, const task* t) noexcept;
[[gnu::cold, gnu::noinline]] void record_stolen(worker* w, const frame* k, u64 code) noexcept;
[[gnu::cold, gnu::noinline]] void record_join(worker* w, int thief) noexcept;
[[gnu::cold, gnu::noinline]] void record_took(worker* w, const worker* of, const task* t) noexcept;

// Before the workers start, and after they have ended. Reads EVE_RECORD and EVE_RECORD_EVENTS.
void open_recording() noexcept;
void close_recording() noexcept;

} // namespace eve

// Running a root: its body, its failure, and giving back its permissions.
#include "scheduler.hpp"
#include "failure.hpp"
#include "runtime.hpp"
#include <exception>

namespace eve {
namespace {

// A root on the stack of its caller.
struct inline_task : task {
    void (*body)(void*, worker*, frame*);
    void* data;

    static void run(task* t, worker* w, frame* top) {
        auto* self = static_cast<inline_task*>(t);
        self->body(self->data, w, top);
    }
    static void end(task*) noexcept {}
    static constexpr task_kind kind_of = {run, end, {"handler"}};
};

constexpr int inline_grants = 16; // longer lists are rare, and are enqueued

// Called while the permissions are still held. Closes the emitters that the root may have damaged,
// or ends the process. A failure without a handler is reported.
void root_failed(task* t, const failure& f) noexcept {
    if (!t->contained || the_scheduler.strict) {
        report(f);
        trace_held(t);
        end_process(1);
    }
    bool told = false;
    for (u16 i = 0; i < t->count; i++) {
        auto* h = static_cast<header*>(t->slots[i].at);
        if (t->slots[i].write && h->kind_->failed) told = h->kind_->failed(h, f) || told;
    }
    if (!told) report_contained(f);
}

} // namespace

void begin_root(task* t) noexcept {
    if (worker* w = self()) {
        w->made.store(w->made.load(order::relaxed) + 1, order::relaxed);
    } else {
        locked guard(the_scheduler.lock);
        the_scheduler.foreign_made++;
    }
    if (the_scheduler.tracing) trace_begin(t);
}

void run_root(worker* w, task* t, frame* top, bool outermost) noexcept {
    frame *floor = w->floor, *stolen = w->stolen;
    scope* within = w->within;
    task* running = w->running;
    w->floor = top;
    w->stolen = nullptr;
    w->within = nullptr;
    w->running = t;
    if (unlikely(recording.on)) record_begins(w, t);
    try {
        t->kind->run(t, w, top);
    } catch (const failure& f) {
        root_failed(t, f);
    }
    w->floor = floor;
    w->stolen = stolen;
    w->within = within;
    w->running = running;
    if (the_scheduler.tracing) trace_end(t);
    if (unlikely(recording.on)) record_ends(w, t);
    w->sets_run_next = outermost;
    give_back_all(t);
    w->sets_run_next = false;
    w->ended++;
    t->kind->end(t);
}

bool run_now(void (*body)(void*, worker*, frame*), void* data, bool contained, grant* grants,
             int n) {
    if (n > inline_grants) return false;
    slot slots[inline_grants];
    inline_task t{{&inline_task::kind_of}, body, data};
    fill(&t, slots, grants, n);
    t.contained = contained;
    if (!take_all_now(&t)) return false;
    begin_root(&t);
    if (unlikely(recording.on)) record_made(&t, true);
    worker* w = self();
    lent meanwhile(w);
    run_root(w, &t, w->first, false);
    return true;
}

} // namespace eve

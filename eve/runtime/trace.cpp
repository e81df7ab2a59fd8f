// Reports which root holds and which waits for which object, from the queues. Roots are listed
// only while EVE_TRACE is set.
#include "scheduler.hpp"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace eve {
namespace {

// guards the list and all that it refers to: a listed root is not freed
constinit spin_lock listing;
constinit task* newest = nullptr; // its neighbours are `older` and `newer`

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) noexcept {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) return;
    usize size = usize(n) < sizeof line ? usize(n) : sizeof line - 1;
    (void)!::write(STDERR_FILENO, line, size);
}

struct text {
    const char* start;
    int size;
};

// The name of the type in __PRETTY_FUNCTION__ of a template, as g++ and clang write it: "... [with
// T = eve::socket; ..]".
text type_in(const char* pretty) noexcept {
    const char* at = strstr(pretty, " = ");
    if (!at) return {pretty, int(strlen(pretty))};
    at += 3;
    return {at, int(strcspn(at, ";]"))};
}

// The name of a type in Eve: without the runtime's namespace, and `int` for C++'s long.
text plain(text type) noexcept {
    if (type.size == 8 && memcmp(type.start, "long int", 8) == 0) return {"int", 3};
    if (type.size == 4 && memcmp(type.start, "long", 4) == 0) return {"int", 3};
    if (type.size > 5 && memcmp(type.start, "eve::", 5) == 0)
        return {type.start + 5, type.size - 5};
    return type;
}

void say_slots(const task* t, bool granted, const char* verb) noexcept {
    for (u16 i = 0; i < t->count; i++) {
        const slot& s = t->slots[i];
        s.at->lock();
        bool has = s.granted;
        s.at->unlock();
        if (has != granted) continue;
        text type = plain(type_in(static_cast<const header*>(s.at)->kind_->name));
        const char* how = s.write ? "to write" : "to read";
        say("    %s %.*s %p %s\n", verb, type.size, type.start, static_cast<const void*>(s.at),
            how);
    }
}

} // namespace

void trace_begin(task* t) noexcept {
    locked guard(listing);
    t->older = newest;
    if (newest) newest->newer = t;
    newest = t;
}

void trace_end(task* t) noexcept {
    locked guard(listing);
    if (t->older) t->older->newer = t->newer;
    if (t->newer) t->newer->older = t->older;
    else newest = t->older;
}

void trace_held(const task* t) noexcept { say_slots(t, true, "it held"); }

void trace_report() noexcept {
    locked guard(listing);
    say("eve: %d workers, %d asleep, %ld armed\n", the_scheduler.count, the_scheduler.idle.count(),
        the_scheduler.armed.load(order::relaxed));
    const task* t = newest;
    while (t && t->older) t = t->older;
    for (; t; t = t->newer) {
        u32 missing = t->missing.load(order::relaxed);
        text name = type_in(t->kind->what.name);
        say("root %.*s %s\n", name.size, name.start, missing ? "waits" : "runs, or can run");
        say_slots(t, true, "holds");
        say_slots(t, false, "waits for");
    }
}

} // namespace eve

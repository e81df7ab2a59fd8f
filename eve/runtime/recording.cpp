#include "recording.hpp"

#include "dump.hpp"
#include "fail.hpp"
#include "runtime.hpp"
#include "saving.hpp"
#include "scheduler.hpp"
#include "scope.hpp"
#include "threads.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace eve {

constinit recording_switch recording;

namespace {

constexpr u64 usual_events = 1 << 20; // of a ring: 32 MiB, of which what is used is touched
constexpr u64 least_events = 64, most_events = 1 << 26;
constexpr usize event_words = 4;
constexpr u64 chunk_events = 64; // copied at a time while the file is written

// The ring of one worker, or of all threads that are none.
struct alignas(64) tape {
    atomic<u64>* words = nullptr;
    u64 capacity = 0;    // in events; a power of two
    u64 numbers = 0;     // the last number of a task; above its low 48 bits is the tape's own
    atomic<u64> head{0}; // events written so far

    // One thread at a time. A word is released, so a reader that gets one of a new event also gets
    // a head that has come that far, and knows that the old event is gone.
    void put(u64 when, recorded what, u64 flags, u64 n, u64 a, u64 p) noexcept {
        u64 at = head.load(order::relaxed);
        atomic<u64>* to = words + (at & (capacity - 1)) * event_words;
        to[0].store(when, order::release);
        to[1].store(u64(what) | flags << 8 | n << 16, order::release);
        to[2].store(a, order::release);
        to[3].store(p, order::release);
        head.store(at + 1, order::release);
    }
    // The oldest event that is there with this head, and stays while the next one is written.
    u64 oldest(u64 at) const noexcept { return at < capacity ? 0 : at - capacity + 1; }
};

// A moment by both clocks.
struct moment {
    u64 in_ticks, in_ns;
};

constinit tape* tapes = nullptr; // one for each worker, and the last for all other threads
constinit int tape_count = 0;
constinit spin_lock foreign; // guards the last tape
constinit dump_names names{};
constinit moment started{};
constinit u64 started_real_ns = 0;

u64 clock_ns(clockid_t clock) noexcept {
    timespec t;
    clock_gettime(clock, &t);
    return u64(t.tv_sec) * 1'000'000'000 + u64(t.tv_nsec);
}

moment now_by_both() noexcept { return {ticks(), clock_ns(CLOCK_MONOTONIC)}; }

u64 address(const void* p) noexcept { return reinterpret_cast<u64>(p); }

template <class Put> void on_tape(Put put) noexcept {
    if (worker* w = self()) return put(tapes[w->id]);
    locked guard(foreign);
    put(tapes[tape_count - 1]);
}

// The addresses of names that the events have. Filled while the file is written.
class name_set {
public:
    static constexpr usize places = 1 << 13, most = places / 4 * 3; // more names are left out
    void clear() noexcept {
        memset(at_, 0, sizeof at_);
        count_ = 0;
    }
    void add(u64 p) noexcept {
        if (p == 0 || count_ == most) return;
        usize i = usize(p * 0x9E3779B97F4A7C15ul >> 51);
        while (at_[i] != 0 && at_[i] != p) i = (i + 1) % places;
        if (at_[i] == 0) count_++;
        at_[i] = p;
    }
    template <class See> void each(See see) const noexcept {
        for (u64 p : at_)
            if (p != 0) see(p);
    }

private:
    u64 at_[places] = {};
    usize count_ = 0;
};

constinit name_set codes, types; // of tasks and handlers; of objects

void note_names(u64 head, u64 p) noexcept {
    recorded what = recorded(head & 0xFF);
    if (what == recorded::made || what == recorded::body) codes.add(p);
    else if (what == recorded::wants) types.add(head >> 16);
}

// An event that was overwritten while it was copied becomes `empty`.
void put_ring(dump& to, const tape& from, int number) noexcept {
    u64 until = from.head.load(order::acquire), first = from.oldest(until);
    to.section("ring", 24 + (until - first) * event_words * 8);
    to.put(u64(number));
    to.put(first);
    to.put(until - first);
    u64 some[chunk_events * event_words];
    for (u64 at = first; at < until;) {
        u64 n = until - at < chunk_events ? until - at : chunk_events;
        for (u64 i = 0; i < n * event_words; i++) {
            u64 event_at = ((at + i / event_words) & (from.capacity - 1)) * event_words;
            some[i] = from.words[event_at + i % event_words].load(order::acquire);
        }
        u64 kept = from.oldest(from.head.load(order::acquire));
        for (u64 i = 0; i < n; i++) {
            if (at + i < kept) some[i * event_words + 1] = u64(recorded::empty);
            else note_names(some[i * event_words + 1], some[i * event_words + 3]);
        }
        to.put(some, usize(n) * event_words * 8);
        at += n;
    }
}

void put_head(dump& to) noexcept {
    moment now = now_by_both();
    to.section("head", 9 * 8);
    to.put(started.in_ticks);
    to.put(started.in_ns);
    to.put(now.in_ticks);
    to.put(now.in_ns);
    to.put(started_real_ns);
    to.put(u64(tape_count - 1));
    to.put(u64(getpid()));
    to.put(tapes[0].capacity);
    // where a function is in memory: for the names of others, which are in the program's file
    to.put(reinterpret_cast<u64>(&run));
}

void put_names(dump& to) noexcept {
    codes.each([&](u64 p) { to.put_code(reinterpret_cast<const body_code*>(p)); });
    types.each([&](u64 p) {
        auto* name = reinterpret_cast<const char*>(p);
        to.section("type", 8 + dump::text_bytes(name));
        to.put(p);
        to.put_text(name);
    });
}

// One thread at a time. False: it could not be written, and that was said.
bool write_file() noexcept {
    codes.clear();
    types.clear();
    dump file("EVEREC01", names);
    put_head(file);
    file.put_program();
    for (int i = 1; i < argument_count(); i++) {
        file.section("argument", dump::text_bytes(arguments()[i]));
        file.put_text(arguments()[i]);
    }
    for (int i = 0; i < tape_count; i++) put_ring(file, tapes[i], i);
    put_names(file);
    file.section("end", 0);
    return file.close("recording");
}

u64 events_wanted() noexcept {
    const char* text = getenv("EVE_RECORD_EVENTS");
    if (!text || !*text) return usual_events;
    char* end;
    u64 n = strtoul(text, &end, 10);
    if (*end != 0 || *text == '-') die("EVE_RECORD_EVENTS is a number of events");
    u64 events = least_events;
    while (events < n && events < most_events) events *= 2;
    return events;
}

} // namespace

void record(worker* w, recorded what, u64 n, u64 a, const void* p) noexcept {
    tapes[w->id].put(ticks(), what, 0, n, a, address(p));
}

void record_made(task* t, bool at_once) noexcept {
    on_tape([&](tape& to) {
        t->number = ++to.numbers;
        u64 now = ticks();
        u64 how = (t->home ? made_child : 0u) | (at_once ? made_at_once : 0u);
        to.put(now, recorded::made, how, t->count, t->number, address(&t->kind->what));
        for (u16 i = 0; i < t->count; i++) {
            const slot& s = t->slots[i];
            u64 write = s.write ? wants_write : 0u;
            if (t->home)
                to.put(now, recorded::wants, write | wants_in_scope, 0, t->number,
                       address(scope::object_of(s.at)));
            else
                to.put(now, recorded::wants, write,
                       address(static_cast<const header*>(s.at)->kind_->name), t->number,
                       address(s.at));
        }
    });
}

void record_granted(const task* t, const gate* object) noexcept {
    const void* p = t->home ? scope::object_of(object) : object;
    on_tape([&](tape& to) { to.put(ticks(), recorded::granted, 0, 0, t->number, address(p)); });
}

void record_object(recorded what, const header* object) noexcept {
    on_tape([&](tape& to) { to.put(ticks(), what, 0, 0, 0, address(object)); });
}

void record_begins(worker* w, const task* t) noexcept { record(w, recorded::begins, 0, t->number); }

void record_ends(worker* w, const task* t) noexcept {
    u64 keeps = t->count == 0 && t->slots != nullptr ? ends_keeps : 0u;
    tapes[w->id].put(ticks(), recorded::ends, keeps, 0, t->number, 0);
}

void record_stolen(worker* w, const frame* k, u64 code) noexcept {
    int victim = w->id;
    for (int i = 0; i < the_scheduler.count; i++) {
        const worker& v = the_scheduler.workers[i];
        if (k >= v.first && k < v.end) victim = i;
    }
    record(w, recorded::stolen, u64(victim), 0, reinterpret_cast<const void*>(code));
}

void record_join(worker* w, int thief) noexcept {
    record(w, recorded::joins, u64(thief < 0 ? w->id : thief));
}

void record_took(worker* w, const worker* of, const task* t) noexcept {
    record(w, recorded::took, u64(of->id), t->number);
}

void open_recording() noexcept {
    const char* path = getenv("EVE_RECORD");
    if (modelled || !path || !*path) return;
    if (the_scheduler.tracing) die("EVE_TRACE and EVE_RECORD exclude each other");
    if (!names.set(path)) die("EVE_RECORD: the name is too long");
    unsetenv("EVE_RECORD"); // programs that this one starts do not write the same file
    tape_count = the_scheduler.count + 1;
    u64 events = events_wanted();
    tapes = static_cast<tape*>(aligned_alloc(alignof(tape), usize(tape_count) * sizeof(tape)));
    if (!tapes) die_out_of_memory();
    for (int i = 0; i < tape_count; i++) {
        tape* t = new (place{&tapes[i]}) tape;
        void* ring = mmap(nullptr, events * event_words * 8, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (ring == MAP_FAILED) die("EVE_RECORD: no memory for the events");
        t->words = static_cast<atomic<u64>*>(ring);
        t->capacity = events;
        t->numbers = u64(i) << 48;
    }
    started = now_by_both();
    started_real_ns = clock_ns(CLOCK_REALTIME);
    recording.on = true;
    if (!write_file()) _exit(1); // noticed before the program runs
    save_at_end([]() noexcept { write_file(); });
}

void close_recording() noexcept {
    if (!recording.on) return;
    recording.on = false;
    for (int i = 0; i < tape_count; i++)
        munmap(tapes[i].words, tapes[i].capacity * event_words * 8);
    free(tapes);
    tapes = nullptr;
}

} // namespace eve

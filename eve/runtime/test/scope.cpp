// Random children of scopes, nested, over a few objects: conflicting ones run in the order of
// their spawns, none is lost, and a failure skips the children that have not started.
#include "../scope.hpp"
#include "../fail.hpp"
#include "../failure.hpp"
#include "core_check.hpp"

namespace eve::test {
namespace {

constexpr int objects = 5;

struct watched {
    atomic<i32> readers{0}, writers{0}, ended{0}, writers_ended{0};
    i64 plain = 0;
};

atomic<i32> ran{0}, alive{0};

struct child {
    watched* what[2];
    bool write_[2];
    i32 before[2], writers_before[2];
    int depth;
    scope* home; // a scope to spawn into from inside; null: none
    bool fails;
    struct mark {
        mark() { alive.fetch_add(1, order::relaxed); }
        mark(const mark&) : mark() {}
        ~mark() { alive.fetch_sub(1, order::relaxed); }
    } counted;

    void begin(int i) {
        watched& x = *what[i];
        if (write_[i]) {
            expect(x.writers.fetch_add(1, order::relaxed) == 0, "two writers");
            expect(x.readers.load(order::relaxed) == 0, "a writer beside a reader");
            expect(before[i] < 0 || x.ended.load(order::relaxed) == before[i],
                   "a writer out of order");
            x.plain++;
        } else {
            x.readers.fetch_add(1, order::relaxed);
            expect(x.writers.load(order::relaxed) == 0 && x.plain >= 0, "a reader beside a writer");
            expect(before[i] < 0 || x.writers_ended.load(order::relaxed) == writers_before[i],
                   "a reader out of order");
        }
    }
    void end(int i) {
        watched& x = *what[i];
        if (write_[i]) x.writers_ended.fetch_add(1, order::relaxed);
        x.ended.fetch_add(1, order::relaxed);
        (write_[i] ? x.writers : x.readers).fetch_sub(1, order::relaxed);
    }
    void operator()(worker* w, frame* top);
};

grant want(const child& c, int i) { return c.write_[i] ? write(*c.what[i]) : read(*c.what[i]); }

// Spawns n children that know their order, if none fails and none spawns into the same scope.
void spawn_children(scope& s, int n, int depth, bool ordered, u32 seed, watched* all) {
    i32 spawned[objects] = {}, writers[objects] = {};
    for (int i = 0; i < n; i++) {
        child c{};
        seed = seed * 1664525 + 1013904223;
        u32 first = (seed >> 8) % objects,
            second = (first + 1 + (seed >> 16) % (objects - 1)) % objects;
        for (int k = 0; k < 2; k++) {
            u32 o = k ? second : first;
            c.what[k] = &all[o];
            c.write_[k] = (seed >> (20 + k)) % 2 == 0;
            c.before[k] = ordered ? spawned[o] : -1;
            c.writers_before[k] = writers[o];
            spawned[o]++;
            writers[o] += c.write_[k];
        }
        c.depth = depth;
        c.home = ordered ? nullptr : &s;
        s.spawn(move(c), want(c, 0), want(c, 1));
    }
}

void child::operator()(worker* w, frame* top) {
    begin(0);
    begin(1);
    ran.fetch_add(1, order::relaxed);
    delay();
    if (fails) fail(nullptr, "as the test wants");
    if (depth > 0) {
        watched own[objects];
        scope inner(w, top);
        spawn_children(inner, 3, depth - 1, true, u32(ran.load(order::relaxed)), own);
        inner.join();
    }
    if (home && depth > 0) {
        child again{*this};
        again.depth = 0;
        again.home = nullptr;
        again.before[0] = again.before[1] = -1;
        home->spawn(move(again), want(again, 0), want(again, 1));
    }
    end(0);
    end(1);
}

i32 wanted;

void run_scopes(worker* w, frame* top) {
    watched all[objects];
    ran.store(0, order::relaxed);
    bool ordered = random_below(2) == 0;
    int depth = int(random_below(3)), n = 1 + int(random_below(modelled ? 10 : 40));
    scope s(w, top);
    spawn_children(s, n, depth, ordered, random_below(1u << 30), all);
    s.join();
    for (watched& x : all)
        expect(x.readers.load(order::relaxed) + x.writers.load(order::relaxed) == 0, "left behind");
    wanted = n;
    for (int i = depth, layer = n; i > 0; i--) wanted += layer *= 3;
    if (!ordered && depth > 0) wanted += n;
}

void all_ran() {
    expect(ran.load(order::relaxed) == wanted, "a child was lost or ran twice");
    expect(alive.load(order::relaxed) == 0, "captures are left");
}

// The third child on one object fails: the children before it run, those behind it do not.
void fail_third(worker* w, frame* top) {
    watched x, y;
    ran.store(0, order::relaxed);
    bool failed = false;
    try {
        scope s(w, top);
        for (int i = 0; i < 6; i++) {
            child c{};
            c.what[0] = &x;
            c.what[1] = &y;
            c.write_[0] = c.write_[1] = true;
            c.before[0] = c.before[1] = i;
            c.fails = i == 2;
            s.spawn(move(c), write(x), write(y));
        }
        s.join();
    } catch (const failure&) {
        failed = true;
    }
    expect(failed, "the failure did not arrive");
    wanted = 3;
}

// A parent that fails between spawns waits for its children before it is unwound.
void leave_early(worker* w, frame* top) {
    ran.store(0, order::relaxed);
    try {
        watched x;
        scope s(w, top);
        for (int i = 0; i < 4; i++) {
            child c{};
            c.what[0] = c.what[1] = &x;
            c.before[0] = c.before[1] = -1;
            s.spawn(move(c), read(x));
        }
        fail(nullptr, "as the test wants");
    } catch (const failure&) {}
    wanted = ran.load(order::relaxed);
}

} // namespace

void test_scopes() {
    rounds("scope: nested", 1500, 200, run_scopes, all_ran);
    rounds("scope: failure", 600, 100, fail_third, all_ran);
    rounds("scope: left early", 600, 100, leave_early, all_ran);
}

} // namespace eve::test

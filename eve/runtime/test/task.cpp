// Random roots over a few objects: conflicting roots never run at once, each object sees its roots
// in the order of their spawns, all roots run once, and all objects end.
#include "../scheduler.hpp"
#include "core_check.hpp"

namespace eve::test {
namespace {

constexpr int objects = 4, most_roots = 60;

// An object that checks its users. Its plain fields are for ThreadSanitizer.
struct watched {
    atomic<i32> readers{0}, writers{0};
    atomic<i32> ended{0}, writers_ended{0};
    i64 plain = 0;
    watched() { alive.fetch_add(1, order::relaxed); }
    watched(watched&&) : watched() {}
    ~watched() { alive.fetch_sub(1, order::relaxed); }
    static inline atomic<i32> alive{0};
};

atomic<i32> ran{0};
i32 wanted;

void use(watched& x, bool write) {
    if (write) {
        expect(x.writers.fetch_add(1, order::relaxed) == 0, "two writers");
        expect(x.readers.load(order::relaxed) == 0, "a writer beside a reader");
        x.plain++;
    } else {
        x.readers.fetch_add(1, order::relaxed);
        expect(x.writers.load(order::relaxed) == 0, "a reader beside a writer");
        expect(x.plain >= 0, "a broken value");
    }
}

void unuse(watched& x, bool write) {
    if (write) x.writers_ended.fetch_add(1, order::relaxed);
    x.ended.fetch_add(1, order::relaxed);
    (write ? x.writers : x.readers).fetch_sub(1, order::relaxed);
}

struct want {
    ref<watched> what;
    bool write = false;
    i32 before = -1,
        // roots that were spawned earlier on the same object; -1: unknown
        writers_before = 0;
};

// A root with up to three objects. The first root's children know which roots were spawned before;
// their own children do not.
struct user {
    want wants[3];
    int count = 0;
    int children = 0;

    void operator()(worker*, frame*) {
        for (int i = 0; i < count; i++) {
            want& x = wants[i];
            use(*x.what, x.write);
            if (x.before < 0) continue;
            if (x.write)
                expect(x.what->ended.load(order::relaxed) == x.before, "a writer out of order");
            else
                expect(x.what->writers_ended.load(order::relaxed) == x.writers_before,
                       "a reader out of order");
        }
        delay();
        for (; children > 0; children--) spawn_again();
        for (int i = 0; i < count; i++) unuse(*wants[i].what, wants[i].write);
        ran.fetch_add(1, order::relaxed);
    }

    // A root that wants the same objects, or another one built here.
    void spawn_again() {
        user again{{wants[0], wants[1], wants[2]}, count, 0};
        for (want& x : again.wants) x.before = -1;
        built<watched> mine(watched{});
        again.count = count < 3 ? count + 1 : 3;
        again.wants[again.count - 1] = want{mine.handle(), children % 2 == 0, -1, 0};
        start(again);
        delay();
    }

    static void start(user& u) {
        grant g[3];
        for (int i = 0; i < 3; i++) {
            const want& x = u.wants[i < u.count ? i : 0];
            g[i] = x.write ? write(x.what) : read(x.what);
        }
        spawn(move(u), g[0], g[1], g[2]);
    }
};

void spawn_users(worker*, frame*) {
    ref<watched> all[objects];
    i32 spawned[objects] = {}, writers[objects] = {};
    for (auto& x : all) x = make<watched>(watched{});
    bool ordered = random_below(2) == 0;
    int n = 1 + int(random_below(most_roots));
    wanted = n;
    ran.store(0, order::relaxed);
    for (int i = 0; i < n; i++) {
        user u;
        u.count = 1 + int(random_below(3));
        u.children = ordered ? 0 : int(random_below(3));
        wanted += u.children;
        bool chosen[objects] = {};
        for (int k = 0; k < u.count; k++) {
            u32 o = random_below(objects);
            while (chosen[o]) o = (o + 1) % objects;
            chosen[o] = true;
            bool writes = random_below(3) == 0;
            u.wants[k] = want{all[o], writes, ordered ? spawned[o] : -1, writers[o]};
            spawned[o]++;
            writers[o] += writes;
        }
        user::start(u);
    }
}

void all_ended() {
    expect(ran.load(order::relaxed) == wanted, "a root was lost or ran twice");
    expect(watched::alive.load(order::relaxed) == 0, "an object is left, or ended twice");
}

// One object under two names, and a chain of objects that each hold the next.
struct link {
    ref<link> next;
};

void spawn_odd(worker*, frame*) {
    ran.store(0, order::relaxed);
    wanted = 3;
    ref<watched> x = make<watched>(watched{});
    for (int i = 0; i < 3; i++) {
        bool second = i > 0;
        spawn(
            [x, second](worker*, frame*) {
                use(*x, second);
                delay();
                unuse(*x, second);
                ran.fetch_add(1, order::relaxed);
            },
            read(x), second ? write(x) : read(x));
    }
    ref<link> chain;
    for (int i = 0; i < (modelled ? 100 : 1000000); i++) chain = make<link>(link{move(chain)});
}

// Events from pollers: handlers run at once if they can, else as roots, beside roots on the same
// objects.
ref<watched> shared[objects];
atomic<i32> events{0}, handled{0};
constexpr i32 all_events = 30;

user handler_for(u32 event) {
    user u;
    u.count = 1 + int(event % 3);
    for (int k = 0; k < u.count; k++)
        u.wants[k] = want{shared[(event / 3 + u32(k)) % objects], (event >> k) % 2 == 0, -1, 0};
    return u;
}

struct eventful final : poller {
    poller* waiter = new_futex_poller();
    ~eventful() override { delete waiter; }
    void wait(i64 timeout_us) override {
        if (events.load(order::seq_cst) <= 0) waiter->wait(timeout_us);
    }
    void wake() override { waiter->wake(); }
    bool poll() override {
        i32 event = events.fetch_sub(1, order::seq_cst);
        if (event <= 0) return false;
        user u = handler_for(u32(event) * 7);
        auto want_of = [&](int i) {
            const want& x = u.wants[i < u.count ? i : 0];
            return x.write ? write(x.what) : read(x.what);
        };
        if (!run_now(u, true, want_of(0), want_of(1), want_of(2))) user::start(u);
        if (handled.fetch_add(1, order::seq_cst) + 1 == all_events) disarm();
        return true;
    }
};

void start_events(worker*, frame*) {
    ran.store(0, order::relaxed);
    handled.store(0, order::relaxed);
    wanted = all_events + 10;
    for (auto& x : shared) x = make<watched>(watched{});
    arm();
    events.store(all_events, order::seq_cst);
    for (u32 i = 0; i < 10; i++) {
        user u = handler_for(i * 11);
        user::start(u);
    }
}

void all_handled() {
    for (auto& x : shared) x = ref<watched>();
    all_ended();
}

} // namespace

void test_tasks() {
    make_poller = [](worker*) -> poller* { return new eventful; };
    rounds("task: events", 1500, 150, start_events, all_handled);
    make_poller = nullptr;
    rounds("task: users", 3000, 300, spawn_users, all_ended);
    rounds("task: odd", 200, 8, spawn_odd, all_ended);
}

} // namespace eve::test

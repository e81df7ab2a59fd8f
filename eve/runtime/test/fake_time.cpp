// The fake clock: it jumps only when no task can run and no call is under way, and timers expire
// one after the other.
#include "../fake_time.hpp"
#include "../scheduler.hpp"
#include "../threads.hpp"
#include "calls.hpp"
#include "core_check.hpp"

namespace eve::test {
namespace {

// A sleep of a task. It belongs to the worker that began it, as it does in a loop.
struct sleeper final : clock_timer {
    void (*then)() = nullptr;
    i64 wanted_ns = 0;

    void begin(i64 d) {
        arm();
        the_fake_clock.count(1);
        wanted_ns = the_fake_clock.now_ns() + d;
        the_fake_clock.set(*this, *self()->io, wanted_ns);
    }
    void over() {
        the_fake_clock.count(-1);
        disarm();
    }
    void expire(loop&, i64) override {}
};

// A poller as a loop is one: it expires its timers, and stops them at the request of other workers.
struct keeper final : poller {
    poller* wakes = new_futex_poller();
    atomic<u32> due{0};
    atomic<sleeper*> unwanted{nullptr};
    i64 sent_ns = 0; // when a worker has asked for that

    ~keeper() override { delete wakes; }
    void wait(i64 timeout_us) override { wakes->wait(timeout_us); }
    void wake() override { wakes->wake(); }
    bool quiet() const noexcept override { return unwanted.load(order::seq_cst) == nullptr; }
    void timer_due() override {
        due.store(1, order::seq_cst);
        wake();
    }
    void stop(sleeper& s) {
        sent_ns = the_fake_clock.now_ns();
        unwanted.store(&s, order::seq_cst);
        wake();
    }
    bool poll() override {
        bool any = false;
        if (sleeper* s = unwanted.load(order::seq_cst)) {
            expect(the_fake_clock.now_ns() == sent_ns,
                   "the clock moved before a timer was stopped");
            the_fake_clock.cancel(*s);
            s->over();
            unwanted.store(nullptr, order::seq_cst);
            any = true;
        }
        if (due.exchange(0, order::seq_cst) == 0) return any;
        auto* s = static_cast<sleeper*>(the_fake_clock.take(*this));
        if (s == nullptr) return true;
        expect(s->wanted_ns == the_fake_clock.now_ns(), "a timer did not expire at its time");
        spawn([s](worker*, frame*) {
            s->then();
            s->over();
        });
        return true;
    }
};

// The moment that a task sees does not change while it runs.
class standing {
    i64 since_ = the_fake_clock.now_ns();

public:
    standing() noexcept {}
    standing(const standing&) = delete;
    standing& operator=(const standing&) = delete;
    ~standing() { expect(the_fake_clock.now_ns() == since_, "the clock moved under a task"); }
};

void work_for(int turns) {
    standing clock;
    for (int i = 0; i < turns; i++) delay();
}

// Tasks that sleep again and again, beside one that only computes.
constexpr int naps = 3;
sleeper sleepers[3];
atomic<i32> slept{0};

template <int N> void nap_again() {
    work_for(5);
    slept.fetch_add(1, order::relaxed);
    if (sleepers[N].wanted_ns < naps * (N + 1)) sleepers[N].begin(N + 1);
}

void start_naps(worker*, frame*) {
    slept.store(0, order::relaxed);
    sleepers[0].then = nap_again<0>;
    sleepers[1].then = nap_again<1>;
    sleepers[2].then = nap_again<2>;
    for (int i = 0; i < 3; i++)
        spawn([i](worker*, frame*) {
            standing clock;
            sleepers[i].begin(i + 1);
        });
    spawn([](worker*, frame*) { work_for(40); });
}

void slept_all() { expect(slept.load(order::relaxed) == 3 * naps, "a sleep did not end"); }

// A chain of calls beside a task that sleeps, which is all that is armed between two of them: it
// sleeps until the last call has been made and its result was seen.
void work_40() { work_for(40); }

using calls = call_chain<4, 1000, work_40>;
atomic<u32> awake{0};

void start_calls(worker*, frame*) {
    awake.store(0, order::relaxed);
    sleepers[0].then = [] {
        expect(calls::done(), "the clock jumped while a call was made");
        awake.store(1, order::relaxed);
    };
    sleepers[0].begin(10);
    calls::start();
}

void all_answered() {
    calls::join();
    expect(awake.load(order::relaxed) == 1, "the sleep did not end");
}

// A task has another one, maybe on another worker, stop its sleep. The clock must not move to it.
void never() { expect(false, "a timer expired that another worker had stopped"); }

void start_stop(worker*, frame*) {
    awake.store(0, order::relaxed);
    sleepers[0].then = never;
    sleepers[1].then = [] { awake.store(1, order::relaxed); };
    sleepers[0].begin(5);
    sleepers[1].begin(10);
    auto* home = static_cast<keeper*>(self()->io);
    spawn([](worker*, frame*) { work_for(10); });
    spawn([home](worker*, frame*) {
        work_for(10);
        home->stop(sleepers[0]);
    });
}

void stopped() { expect(awake.load(order::relaxed) == 1, "a sleep did not end"); }

// Timers of one moment, in the order in which they were set, those that are last behind them.
sleeper same_moment[4];
int came[4];
int came_count;

template <int N> void note() {
    standing clock;
    came[came_count++] = N;
}

void start_same(worker*, frame*) {
    came_count = 0;
    same_moment[0].then = note<0>;
    same_moment[1].then = note<1>;
    same_moment[2].then = note<2>;
    same_moment[3].then = note<3>;
    same_moment[1].last = true;
    for (sleeper& s : same_moment) s.begin(7);
}

void in_order() {
    const int want[] = {0, 2, 3, 1};
    expect(came_count == 4, "a sleep did not end");
    for (int i = 0; i < 4; i++) expect(came[i] == want[i], "timers of one moment lost their order");
}

} // namespace

void test_fake_time() {
    make_poller = [](worker*) -> poller* { return new keeper; };
    the_fake_clock.turn(true);
    rounds("fake_time: sleeps", 2000, 200, start_naps, slept_all);
    rounds("fake_time: calls", 2000, 200, start_calls, all_answered);
    rounds("fake_time: a stop", 4000, 200, start_stop, stopped);
    rounds("fake_time: one moment", 500, 50, start_same, in_order);
    the_fake_clock.turn(false);
    make_poller = nullptr;
}

} // namespace eve::test

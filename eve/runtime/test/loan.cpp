// A loan by itself: an owner that lends and comes back, while guests take what was lent. One at a
// time is inside, and a guest that was interrupted by a body of its own goes on afterwards.
#include "../loan.hpp"
#include "../threads.hpp"
#include "core_check.hpp"
#include "model.hpp"
#include <stdio.h>

namespace eve::test {
namespace {

loan* lending;
i64 uses;                // not atomic: ThreadSanitizer sees every use that the loan does not order
atomic<i32> present{0};  // threads inside
atomic<i32> served{0};   // calls of guests
atomic<i32> returned{0}; // times that the owner found it taken
thread guests[2];

void use() {
    expect(present.fetch_add(1, order::relaxed) == 0, "two threads are inside");
    uses++;
    expect(present.fetch_sub(1, order::relaxed) == 1, "two threads are inside");
}

// Takes it, runs a body in the middle, and serves it until the owner is back.
void be_guest(int id) {
    if (!lending->take(id)) return;
    use();
    lending->step_out();
    lending->step_in();
    use();
    lending->leave();
    served.fetch_add(1, order::relaxed);
    if (!lending->enter(id)) return;
    use();
    lending->leave();
    served.fetch_add(1, order::relaxed);
}

// The owner as in a poll with one handler that sets a timer.
void be_owner() {
    if (lending->take_back()) returned.fetch_add(1, order::relaxed);
    use();
    lending->lend();
    lending->visit();
    use();
    lending->lend();
    if (lending->take_back()) returned.fetch_add(1, order::relaxed);
    use();
    expect(!lending->away(), "the owner has come back");
    lending->lend();
}

void beside(int n) {
    loan l;
    lending = &l;
    uses = 0;
    guests[0].start([](void*) { be_guest(1); }, nullptr);
    if (n > 1) guests[1].start([](void*) { be_guest(2); }, nullptr);
    be_owner();
    be_owner();
    for (int i = 0; i < n; i++) guests[i].join();
    l.take_back();
    expect(l.owned(), "without guests it is the owner's alone");
    expect(uses >= 6, "the owner was inside six times");
    l.lend();
}

void beside_one() { beside(1); }
void beside_two(worker*, frame*) { beside(2); }
void nothing() {}

// Without other threads: each state, and the calls that it refuses.
void states() {
    loan l;
    expect(!l.take_back() && l.owned() && l.inside(), "it was the owner's all the time");
    expect(!l.take(1), "it is not taken while the owner is inside");
    l.lend();
    expect(!l.enter(1), "it is not taken yet");
    expect(l.take(1) && l.away() && l.guest() == 1, "it is lent, so it is taken");
    expect(!l.take(2), "another guest is inside");
    l.leave();
    expect(l.take(2) && l.guest() == 2, "another guest takes over");
    l.leave();
    expect(!l.enter(1) && l.enter(2), "only the last guest serves it");
    l.step_out(); // a body of the guest
    expect(l.take_back() && !l.owned() && !l.away(), "the owner is back, beside a guest");
    l.lend();
    expect(!l.enter(2), "the guest serves it no more");
    l.step_in(); // but goes on with its call
    l.leave();
    expect(!l.take_back() && l.owned(), "now it is the owner's alone");
    l.lend();
    expect(l.take(1), "and can be taken again");
    l.leave();
    l.visit();
    expect(l.away() && !l.owned(), "a visit leaves it with the guest");
    l.lend();
    expect(l.enter(1), "which still serves it");
    l.leave();
}

} // namespace

void test_loans() {
    prepare_fences();
    states();
    if constexpr (modelled) {
        u64 orders = model::explore(beside_one, 3);
        printf("loan: an owner and a guest in %lu orders\n", orders);
    }
    rounds("loan: an owner and two guests", 1000, 200, beside_two, nothing);
    if constexpr (modelled) return;
    printf("loan: %d calls of guests, %d returns of the owner\n", served.load(order::relaxed),
           returned.load(order::relaxed));
    bool had = remote_fences;
    remote_fences = false; // as on a kernel without membarrier
    states();
    for (int i = 0; i < 200; i++) beside(2);
    remote_fences = had;
}

} // namespace eve::test

// A gate by itself: which slot is admitted, in which order, and who ends an object whose last
// handle goes while it is held.
#include "../gate.hpp"
#include "../run_queue.hpp"
#include "../threads.hpp"
#include "core_check.hpp"
#include "model.hpp"
#include <stdio.h>

namespace eve::test {
namespace {

bool enter(gate& g, slot& s) {
    g.lock();
    bool in = g.join(&s);
    g.unlock();
    return in;
}

// R R W R R W on a free gate: the readers, then one writer, then the readers behind it, then
// the other writer.
void first_come_first_served() {
    gate g;
    slot s[6];
    bool died = false;
    for (int i = 0; i < 6; i++) {
        s[i].write = i % 3 == 2;
        expect(enter(g, s[i]) == (i < 2), "only the readers in front get in at once");
    }
    expect(g.readers() == 2 && !g.written() && g.waited_for(), "two readers and a queue");
    expect(!g.take_now(false) && !g.take_now(true), "nobody overtakes the queue");
    expect(g.give_back(false, &died) == nullptr, "one reader is left");
    slot* next = g.give_back(false, &died);
    expect(next == &s[2] && !next->next && g.written(), "the writer alone");
    next = g.give_back(true, &died);
    expect(next == &s[3] && next->next == &s[4] && !s[4].next && g.readers() == 2,
           "both readers together");
    expect(g.give_back(false, &died) == nullptr, "the writer waits for both");
    expect(g.give_back(false, &died) == &s[5] && !g.waited_for(), "the last writer");
    expect(g.give_back(true, &died) == nullptr && !died, "it is free");
    expect(g.take_now(true) && !g.take_now(true) && !g.take_now(false), "free for one writer");
    g.give_back(true, &died);
    expect(g.take_now(false) && g.take_now(false) && !g.take_now(true), "or for many readers");
}

// The last handle goes before, while or after the permission is given back: exactly one of the two
// ends the object.
gate* contested;
atomic<i32> ends{0};
thread other;

void give_back_once(void*) {
    bool died = false;
    contested->give_back(true, &died);
    if (died) ends.fetch_add(1, order::relaxed);
}

void one_ends_it() {
    gate g(gate::writer);
    contested = &g;
    ends.store(0, order::relaxed);
    other.start(give_back_once, nullptr);
    if (g.orphaned()) ends.fetch_add(1, order::relaxed);
    other.join();
    expect(ends.load(order::relaxed) == 1, "an object ends once");
}

// A run queue that its owner pushes and pops while a thief pops: every task comes out once.
run_queue* ring;
char tasks[3];
atomic<i32> popped[3];

void pop_some(int n) {
    for (int i = 0; i < n; i++)
        if (task* t = ring->pop())
            popped[reinterpret_cast<char*>(t) - tasks].fetch_add(1, order::relaxed);
}

void all_come_out() {
    run_queue r;
    ring = &r;
    for (atomic<i32>& p : popped) p.store(0, order::relaxed);
    other.start([](void*) { pop_some(2); }, nullptr);
    for (char& t : tasks) expect(r.push(reinterpret_cast<task*>(&t)), "there is room");
    pop_some(2);
    other.join();
    pop_some(3);
    expect(r.empty(), "nothing is left in the ring");
    for (atomic<i32>& p : popped)
        expect(p.load(order::relaxed) == 1, "a task was lost or came out twice");
}

void full_ring() {
    run_queue r;
    auto* t = reinterpret_cast<task*>(tasks);
    for (u32 i = 0; i < run_queue::capacity; i++) expect(r.push(t), "there is room");
    expect(!r.push(t), "it is full");
    expect(r.pop() == t && r.push(t), "there is room for one");
}

} // namespace

void test_gates() {
    first_come_first_served();
    full_ring();
    if constexpr (modelled) {
        u64 orders = model::explore(one_ends_it, 8);
        printf("gate: the end of an object in %lu orders\n", orders);
        orders = model::explore(all_come_out, 3);
        printf("ready: owner and thief in %lu orders\n", orders);
        return;
    }
    for (int i = 0; i < 50; i++) {
        one_ends_it();
        all_come_out();
    }
}

} // namespace eve::test

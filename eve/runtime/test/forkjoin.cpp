// Random trees of children: every child runs once, unless a failure makes the others unwanted; no
// child is left when its parent goes on; and the protocol between owner and thief in all orders of
// few steps.
#include "../scheduler.hpp"
#include "../fail.hpp"
#include "../failure.hpp"
#include "../threads.hpp"
#include "core_check.hpp"
#include "model.hpp"
#include <stdio.h>

namespace eve::test {
namespace {

atomic<i32> made{0}, ran{0}, under_way{0};

// Derives the shape of a tree from a number, the same on every worker.
u32 mix(u32 x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

struct node {
    u32 shape;
    i32 depth;
    i32 fails; // one of this many nodes fails; 0: none
    atomic<i32>* parent_alive;
    // the result also goes there: children that are joined later use the frame again
    i64* out = nullptr;
};

i64 visit(worker* w, frame* top, const node& n);

void visit_thunk(worker* w, frame* top, frame* me) {
    node n = me->as<node>();
    i64 sum = visit(w, top, n);
    if (n.out) *n.out = sum;
    me->emplace<i64>(sum);
}

struct counting {
    counting() { under_way.fetch_add(1, order::relaxed); }
    ~counting() { under_way.fetch_sub(1, order::relaxed); }
};

// The children of a node, joined in each of the ways of generated code.
i64 visit_children(worker* w, frame* top, const node& n, atomic<i32>* alive) {
    u32 count = mix(n.shape) % 4;
    joiner children(w, top);
    i64 sum = 0, results[4] = {};
    for (u32 i = 0; i < count; i++) {
        children.top->emplace<node>(n.shape * 5 + i + 1, n.depth - 1, n.fails, alive, &results[i]);
        push(w, children.top++, visit_thunk);
        if (mix(n.shape + i) % 3 == 0)
            sum += visit(w, children.top, node{n.shape * 7 + i, 0, 0, alive});
    }
    if (mix(n.shape + 9) % 3 == 0) {
        children.join();
        for (i64 r : results) sum += r;
        return sum;
    }
    while (children.top > top) {
        frame* k = --children.top;
        if (pop(w, k)) {
            if (mix(n.shape + 5) % 2 == 0) {
                node child = k->as<node>();
                sum += visit(w, k, child);
                continue;
            }
            run_own(w, k);
        } else if (k->failed()) {
            rethrow(k);
        }
        sum += k->as<i64>();
    }
    return sum;
}

i64 visit(worker* w, frame* top, const node& n) {
    counting here;
    atomic<i32> alive{1};
    expect(n.parent_alive->load(order::relaxed) == 1, "a child outlives its parent");
    ran.fetch_add(1, order::relaxed);
    delay();
    if (n.fails && mix(n.shape + 77) % u32(n.fails) == 0) fail(nullptr, "as the test wants");
    struct ending {
        atomic<i32>& alive;
        ~ending() { alive.store(0, order::relaxed); }
    } at_end{alive};
    i64 sum = 1;
    if (n.depth > 0) sum += visit_children(w, top, n, &alive);
    expect(n.parent_alive->load(order::relaxed) == 1, "a child outlives its parent");
    return sum;
}

void grow_trees(worker* w, frame* top) {
    atomic<i32> alive{1};
    for (int i = 0; i < 3; i++) {
        ran.store(0, order::relaxed);
        node n{random_below(1u << 30), modelled ? 4 : 7, random_below(2) ? 0 : 30, &alive};
        try {
            i64 sum = visit(w, top, n);
            expect(sum == ran.load(order::relaxed), "a child was lost or ran twice");
        } catch (const failure&) {
            expect(n.fails != 0, "a failure that nobody made");
        }
        expect(under_way.load(order::relaxed) == 0, "a child is left when its parent has ended");
    }
}

void loop_over(worker* w, frame* top) {
    constexpr int count = modelled ? 60 : 5000;
    static i64 elements[count];
    for (i64& x : elements) x = 0;
    parallel_for(w, top, elements, count, [](worker* v, frame* k, i64& x) {
        delay();
        x++;
        if (modelled) poll_steals(v, k);
    });
    for (i64& x : elements) expect(x == 1, "an element was left out or met twice");
    bool failed = false;
    try {
        parallel_for(w, top, elements, count, [](worker*, frame*, i64& x) {
            if (&x == &elements[count / 3]) fail(nullptr, "as the test wants");
            x++;
        });
    } catch (const failure&) {
        failed = true;
    }
    expect(failed, "the failure of an element did not arrive");
}

// Publishing frames must not hide from a loop that its time is over. The loop is told once.
void end_of_time(worker* w, frame* top) {
    static constexpr site here{"test", 1};
    for (int way = 0; way < 3; way++) {
        w->overtime.store(1, order::seq_cst);
        w->mark.fetch_or(check_bit, order::seq_cst);
        joiner children(w, top);
        for (i64 i = 0; i < 3; i++) {
            if (way == 1) request_steal(w);
            push(w, children.top++, no_op);
        }
        if (way != 2) children.join();
        int told = 0;
        for (int turn = 0; turn < 3; turn++) {
            try {
                poll_and_check(w, children.top, &here);
            } catch (const failure&) {
                told++;
            }
        }
        expect(told == 1, "a loop was not told once that its time is over");
    }
}

void nothing_left() { expect(under_way.load(order::relaxed) == 0, "a child is left"); }

// Three frames of one owner, three tries of one thief.
worker* pair;
frame stacks[2][8];
atomic<i32> runs[3];
thread thief;

void steal_three(void*) {
    this_worker = &pair[1];
    for (int i = 0; i < 3; i++)
        if (frame* k = steal(&pair[0])) run_stolen(&pair[1], stacks[1], k);
}

void count_run(worker*, frame*, frame* me) { runs[me->as<i64>()].fetch_add(1, order::relaxed); }

void put_and_take_three() {
    for (int i = 0; i < 2; i++) {
        new (place{&pair[i]}) worker;
        pair[i].id = i;
        pair[i].depth = 1 << 20; // waits without helping
        pair[i].first = pair[i].split = pair[i].floor = stacks[i];
        pair[i].mark.store(steal_requested, order::relaxed);
    }
    the_scheduler.workers = pair;
    the_scheduler.count = 2;
    for (atomic<i32>& r : runs) r.store(0, order::relaxed);
    this_worker = &pair[0];
    thief.start(steal_three, nullptr);
    frame* top = stacks[0];
    for (i64 i = 0; i < 3; i++) {
        top->emplace<i64>(i);
        push(&pair[0], top++, count_run);
    }
    while (top > stacks[0])
        if (pop(&pair[0], --top)) runs[top->as<i64>()].fetch_add(1, order::relaxed);
    for (atomic<i32>& r : runs)
        expect(r.load(order::relaxed) == 1, "a frame was lost or ran twice");
    thief.join();
    this_worker = nullptr;
}

void test_all_orders() {
    if constexpr (!modelled) return;
    pair = new worker[2];
    u64 orders = model::explore(put_and_take_three, 3);
    printf("forkjoin: owner and thief in %lu orders\n", orders);
    the_scheduler.workers = nullptr;
    the_scheduler.count = 0;
    delete[] pair;
}

} // namespace

void test_forkjoin() {
    test_all_orders();
    rounds("forkjoin: trees", 1200, 150, grow_trees, nothing_left);
    rounds("forkjoin: end of time", 100, 50, end_of_time, nothing_left);
    rounds("forkjoin: loops", 800, 150, loop_over, nothing_left);
}

} // namespace eve::test

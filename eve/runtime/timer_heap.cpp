#include "timer_heap.hpp"

#include "fail.hpp"

#include <stdlib.h>
#include <time.h>

namespace eve {

timer_heap::~timer_heap() {
    for (i64 i = 0; i < size_; i++) nodes_[i]->dropped();
    free(nodes_);
}

void timer_heap::place(timer_node* timer, i64 index) noexcept {
    nodes_[index] = timer;
    timer->index = static_cast<i32>(index);
}

void timer_heap::up(timer_node* timer, i64 index) noexcept {
    while (index > 0) {
        i64 parent = (index - 1) / 2;
        if (nodes_[parent]->at_ns <= timer->at_ns) break;
        place(nodes_[parent], index);
        index = parent;
    }
    place(timer, index);
}

void timer_heap::down(timer_node* timer, i64 index) noexcept {
    for (;;) {
        i64 child = 2 * index + 1;
        if (child >= size_) break;
        if (child + 1 < size_ && nodes_[child + 1]->at_ns < nodes_[child]->at_ns) child++;
        if (timer->at_ns <= nodes_[child]->at_ns) break;
        place(nodes_[child], index);
        index = child;
    }
    place(timer, index);
}

void timer_heap::set(timer_node& timer, i64 at_ns) noexcept {
    if (timer.index >= 0) cancel(timer);
    if (size_ == capacity_) {
        i64 capacity = capacity_ == 0 ? 16 : capacity_ * 2;
        void* nodes = realloc(nodes_, static_cast<size_t>(capacity) * sizeof *nodes_);
        if (nodes == nullptr) die_out_of_memory();
        nodes_ = static_cast<timer_node**>(nodes);
        capacity_ = capacity;
    }
    timer.at_ns = at_ns;
    up(&timer, size_++);
}

void timer_heap::cancel(timer_node& timer) noexcept {
    if (timer.index < 0) return;
    i64 index = timer.index;
    timer.index = -1;
    timer_node* last = nodes_[--size_];
    if (last == &timer) return;
    if (index > 0 && last->at_ns < nodes_[(index - 1) / 2]->at_ns) up(last, index);
    else down(last, index);
}

timer_node* timer_heap::due(i64 now_ns) noexcept {
    if (size_ == 0 || nodes_[0]->at_ns > now_ns) return nullptr;
    timer_node* first = nodes_[0];
    cancel(*first);
    return first;
}

i64 monotonic_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

} // namespace eve

#include "timer_heap.hpp"

#include "fail.hpp"

#include <stdlib.h>
#include <time.h>

namespace eve {

namespace {

bool is_before(const timer_node& a, const timer_node& b) noexcept { return a.at_ns < b.at_ns; }

bool is_before(const clock_timer& a, const clock_timer& b) noexcept {
    return a.at_ns < b.at_ns || (a.at_ns == b.at_ns && a.turn < b.turn);
}

} // namespace

template <class Timer> void heap_of<Timer>::clear() noexcept {
    for (i64 i = 0; i < size_; i++) nodes_[i]->dropped();
    free(nodes_);
    nodes_ = nullptr;
    size_ = capacity_ = 0;
}

template <class Timer> void heap_of<Timer>::place(Timer* timer, i64 index) noexcept {
    nodes_[index] = timer;
    timer->index = static_cast<i32>(index);
}

template <class Timer> void heap_of<Timer>::up(Timer* timer, i64 index) noexcept {
    while (index > 0) {
        i64 parent = (index - 1) / 2;
        if (!is_before(*timer, *nodes_[parent])) break;
        place(nodes_[parent], index);
        index = parent;
    }
    place(timer, index);
}

template <class Timer> void heap_of<Timer>::down(Timer* timer, i64 index) noexcept {
    for (;;) {
        i64 child = 2 * index + 1;
        if (child >= size_) break;
        if (child + 1 < size_ && is_before(*nodes_[child + 1], *nodes_[child])) child++;
        if (!is_before(*nodes_[child], *timer)) break;
        place(nodes_[child], index);
        index = child;
    }
    place(timer, index);
}

template <class Timer> void heap_of<Timer>::set(Timer& timer, i64 at_ns) noexcept {
    if (timer.index >= 0) cancel(timer);
    if (size_ == capacity_) {
        i64 capacity = capacity_ == 0 ? 16 : capacity_ * 2;
        void* nodes = realloc(nodes_, static_cast<size_t>(capacity) * sizeof *nodes_);
        if (nodes == nullptr) die_out_of_memory();
        nodes_ = static_cast<Timer**>(nodes);
        capacity_ = capacity;
    }
    timer.at_ns = at_ns;
    up(&timer, size_++);
}

template <class Timer> void heap_of<Timer>::cancel(Timer& timer) noexcept {
    if (timer.index < 0) return;
    i64 index = timer.index;
    timer.index = -1;
    Timer* last = nodes_[--size_];
    if (last == &timer) return;
    if (index > 0 && is_before(*last, *nodes_[(index - 1) / 2])) up(last, index);
    else down(last, index);
}

template <class Timer> Timer* heap_of<Timer>::due(i64 now_ns) noexcept {
    if (size_ == 0 || nodes_[0]->at_ns > now_ns) return nullptr;
    Timer* first = nodes_[0];
    cancel(*first);
    return first;
}

template class heap_of<timer_node>;
template class heap_of<clock_timer>;

i64 monotonic_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

} // namespace eve

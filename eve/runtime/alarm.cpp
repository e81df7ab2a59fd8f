#include "alarm.hpp"

#include "fail.hpp"

#include <stdlib.h>
#include <time.h>

namespace eve {

alarm_heap::~alarm_heap() {
    for (i64 i = 0; i < size_; i++) nodes_[i]->dropped();
    free(nodes_);
}

void alarm_heap::place(alarm_node* alarm, i64 index) noexcept {
    nodes_[index] = alarm;
    alarm->index = index;
}

void alarm_heap::up(alarm_node* alarm, i64 index) noexcept {
    while (index > 0) {
        i64 parent = (index - 1) / 2;
        if (nodes_[parent]->at_ns <= alarm->at_ns) break;
        place(nodes_[parent], index);
        index = parent;
    }
    place(alarm, index);
}

void alarm_heap::down(alarm_node* alarm, i64 index) noexcept {
    for (;;) {
        i64 child = 2 * index + 1;
        if (child >= size_) break;
        if (child + 1 < size_ && nodes_[child + 1]->at_ns < nodes_[child]->at_ns) child++;
        if (alarm->at_ns <= nodes_[child]->at_ns) break;
        place(nodes_[child], index);
        index = child;
    }
    place(alarm, index);
}

void alarm_heap::set(alarm_node& alarm, i64 at_ns) noexcept {
    if (alarm.index >= 0) take_back(alarm);
    if (size_ == capacity_) {
        i64 capacity = capacity_ == 0 ? 16 : capacity_ * 2;
        void* nodes = realloc(nodes_, static_cast<size_t>(capacity) * sizeof *nodes_);
        if (nodes == nullptr) die_out_of_memory();
        nodes_ = static_cast<alarm_node**>(nodes);
        capacity_ = capacity;
    }
    alarm.at_ns = at_ns;
    up(&alarm, size_++);
}

void alarm_heap::take_back(alarm_node& alarm) noexcept {
    if (alarm.index < 0) return;
    i64 index = alarm.index;
    alarm.index = -1;
    alarm_node* last = nodes_[--size_];
    if (last == &alarm) return;
    if (index > 0 && last->at_ns < nodes_[(index - 1) / 2]->at_ns) up(last, index);
    else down(last, index);
}

alarm_node* alarm_heap::due(i64 now_ns) noexcept {
    if (size_ == 0 || nodes_[0]->at_ns > now_ns) return nullptr;
    alarm_node* first = nodes_[0];
    take_back(*first);
    return first;
}

i64 monotonic_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

} // namespace eve

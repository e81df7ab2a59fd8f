#include "task.hpp"
#include "worker.hpp"

#ifdef EVE_MUTATE_ORDER
static constexpr bool by_address = false;
#else
static constexpr bool by_address = true;
#endif

namespace eve {

void fill(task* t, slot* slots, const grant* grants, int n) noexcept {
    u16 count = 0;
    for (int i = 0; i < n; i++) {
        auto* at = static_cast<gate*>(const_cast<void*>(grants[i].object));
        u16 k = by_address ? count : u16(0);
        if (!by_address)
            while (k < count && slots[k].at != at) k++;
        while (by_address && k > 0 && slots[k - 1].at >= at) k--;
        if (k < count && slots[k].at == at) {
            slots[k].write |= grants[i].write;
            continue;
        }
        for (u16 j = count; j > k; j--) slots[j] = slots[j - 1];
        slots[k] = slot{at, nullptr, t, grants[i].write, false};
        count++;
    }
    t->slots = slots;
    t->count = count;
}

// Puts the task into all queues as one step. Returns how many permissions it got at once.
static u32 join_all_queues(task* t) noexcept {
    if (t->count == 1 && t->slots->at->take_now(t->slots->write)) {
        t->slots->granted = true;
        return 1;
    }
    u32 got = 0;
    for (u16 i = 0; i < t->count; i++) t->slots[i].at->lock();
    for (u16 i = 0; i < t->count; i++) got += t->slots[i].at->join(&t->slots[i]) ? 1u : 0u;
    for (u16 i = t->count; i-- > 0;) t->slots[i].at->unlock();
    return got;
}

// Counts off permissions that the task waited for. The caller that counts off the last one makes
// the task ready. No other caller may touch it afterwards, since it may have run and been freed.
static void grant_to(task* t, u32 permissions) noexcept {
    if (t->missing.fetch_sub(permissions, order::acq_rel) == permissions) make_ready(t);
}

void enqueue(task* t) noexcept {
    if (!t->home) begin_root(t);
    if (unlikely(recording.on)) record_made(t, false);
    t->missing.store(t->count + 1u, order::relaxed);
    grant_to(t, join_all_queues(t) + 1);
}

void enqueue_first(task* t) noexcept {
    begin_root(t);
    if (unlikely(recording.on)) record_made(t, false);
    t->missing.store(2, order::relaxed);
    t->slots->at->lock();
    bool got = t->slots->at->join_first(t->slots);
    t->slots->at->unlock();
    grant_to(t, got ? 2 : 1);
}

void hand_over(slot* granted) noexcept {
    while (granted) {
        slot* next = granted->next;
        if (unlikely(recording.on)) record_granted(granted->owner, granted->at);
        grant_to(granted->owner, 1);
        granted = next;
    }
}

void give_back_all(task* t) noexcept {
    for (u16 i = 0; i < t->count; i++) {
        slot& s = t->slots[i];
        bool died = false;
        hand_over(s.at->give_back(s.write, &died));
        if (died) static_cast<header*>(s.at)->end();
    }
}

bool take_all_now(task* t) noexcept {
    for (u16 i = 0; i < t->count; i++) {
        slot& s = t->slots[i];
        if (s.at->take_now(s.write)) continue;
        t->count = i;
        give_back_all(t);
        return false;
    }
    return true;
}

} // namespace eve

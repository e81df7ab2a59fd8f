// Blocks that move from worker to worker keep their contents, and all are freed.
#include "../memory.hpp"
#include "../threads.hpp"
#include "core_check.hpp"

namespace eve::test {
namespace {

constexpr int shelves = 64;

struct outgoing {
    usize size;
    u64 stamp;
};

atomic<outgoing*> shelf[shelves];

// Puts new blocks on random shelves and frees the old ones, whichever thread made them.
void trade(u32 random, int turns) {
    for (int i = 0; i < turns; i++) {
        random = random * 1664525 + 1013904223;
        usize size = sizeof(outgoing) + (random >> 8) % 1100;
        auto* p = static_cast<outgoing*>(allocate(size));
        p->size = size;
        p->stamp = reinterpret_cast<u64>(p) * size;
        outgoing* old = shelf[(random >> 20) % shelves].exchange(p, order::acq_rel);
        if (!old) continue;
        expect(old->stamp == reinterpret_cast<u64>(old) * old->size,
               "a block was changed by somebody else");
        release(old, old->size);
    }
}

void trade_everywhere(worker*, frame*) {
    for (u32 i = 0; i < 8; i++)
        spawn([i](worker*, frame*) { trade(i * 77 + 1, modelled ? 20 : 5000); });
}

void all_back() {
    trade(5, 100); // also by a thread that is not a worker
    for (auto& s : shelf)
        if (outgoing* p = s.exchange(nullptr, order::acq_rel)) release(p, p->size);
    expect(small_bytes_in_use() == 0, "blocks are missing");
}

} // namespace

void test_memory() { rounds("memory: trade", 50, 20, trade_everywhere, all_back); }

} // namespace eve::test

// Slabs: regions of 64 KiB, aligned to their size, so that the address of a block gives its slab
// by a mask. A slab has blocks of one size and one owner, the heap of a worker. Threads without a
// worker share one heap, under a lock.
#include "memory.hpp"
#include "atomic.hpp"
#include "fail.hpp"
#include "lock.hpp"
#include <stdlib.h>
#include <sys/mman.h>

// The address sanitizer watches malloc's blocks; slabs would hide a use after free from it.
#if defined(__SANITIZE_ADDRESS__)
static constexpr bool plain = true;
#else
static constexpr bool plain = false;
#endif

namespace eve {

namespace model { // in a model build, test/model.cpp defines these
void* allocate(usize bytes);
void release(void* block, usize bytes);
} // namespace model

namespace {

constexpr usize slab_bytes = 64 << 10;
constexpr usize largest = 1024; // bytes; malloc serves larger blocks as well
constexpr u32 classes = 24;     // 16, 32 .. 256, then 352 .. 1024 in steps of 96, a multiple of 16
constexpr usize fine = 256;
constexpr u32 spare_slabs = 64; // empty slabs kept for all heaps together: 4 MiB

constexpr u32 class_of(usize bytes) {
    if (bytes <= fine) return bytes == 0 ? 0 : u32((bytes - 1) / 16);
    return u32(16 + (bytes - fine - 1) / 96);
}
constexpr usize size_of(u32 c) { return c < 16 ? (c + 1) * 16u : fine + (c - 15) * 96u; }
static_assert(class_of(largest) == classes - 1 && size_of(classes - 1) >= largest);

struct block {
    block* next;
};

struct slab {
    heap* owner;
    slab *next, *before; // among the owner's slabs of this class with free blocks
    block* free;
    u32 kind, used;
    u32 fresh, end; // offsets of the part that was never given out
};
constexpr usize slab_head = 64;
static_assert(sizeof(slab) <= slab_head);

slab* slab_at(void* p) {
    return reinterpret_cast<slab*>(reinterpret_cast<u64>(p) & ~(slab_bytes - 1));
}

constinit spin_lock common; // guards the fields below
constinit heap* idle = nullptr;
constinit heap* every = nullptr;
constinit slab* spare = nullptr;
constinit u32 spares = 0;

} // namespace

struct heap {
    slab* room[classes] = {};
    heap* next_idle = nullptr;
    heap* next = nullptr;
    atomic<i64> bytes{0}; // bytes given out, less those freed by this heap's thread, in any heap
    alignas(64) atomic<block*> returned{nullptr}; // freed by other threads

    void count(i64 n) noexcept { bytes.store(bytes.load(order::relaxed) + n, order::relaxed); }
    void* take(u32 kind);
    void put(slab* s, block* b) noexcept;
    void collect() noexcept;
    slab* open(u32 kind);
    void link(slab* s) noexcept;
    void unlink(slab* s) noexcept;
};

namespace {

constinit heap foreign_heap; // of threads without a worker. Under its lock
constinit spin_lock foreign_lock;
constinit thread_local heap* mine = nullptr;

slab* map_slab() {
    usize twice = 2 * slab_bytes;
    void* p = mmap(nullptr, twice, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die_out_of_memory();
    auto start = reinterpret_cast<u64>(p), fit = (start + slab_bytes - 1) & ~(slab_bytes - 1);
    if (fit > start) munmap(p, fit - start);
    if (start + slab_bytes > fit)
        munmap(reinterpret_cast<void*>(fit + slab_bytes), start + slab_bytes - fit);
    return reinterpret_cast<slab*>(fit);
}

slab* spare_slab() {
    {
        locked guard(common);
        if (slab* s = spare) {
            spare = s->next;
            spares--;
            return s;
        }
    }
    return map_slab();
}

void retire(slab* s) noexcept {
    {
        locked guard(common);
        if (spares < spare_slabs) {
            s->next = spare;
            spare = s;
            spares++;
            return;
        }
    }
    munmap(s, slab_bytes);
}

} // namespace

void heap::link(slab* s) noexcept {
    s->before = nullptr;
    s->next = room[s->kind];
    if (s->next) s->next->before = s;
    room[s->kind] = s;
}

void heap::unlink(slab* s) noexcept {
    if (s->next) s->next->before = s->before;
    if (s->before) s->before->next = s->next;
    else room[s->kind] = s->next;
}

slab* heap::open(u32 kind) {
    slab* s = spare_slab();
    u32 size = u32(size_of(kind));
    u32 n = u32(slab_bytes - slab_head) / size;
    *s = slab{this, nullptr, nullptr, nullptr, kind, 0, u32(slab_head), u32(slab_head) + n * size};
    link(s);
    return s;
}

void* heap::take(u32 kind) {
    slab* s = room[kind];
    if (!s) {
        collect();
        s = room[kind];
        if (!s) s = open(kind);
    }
    void* p = s->free;
    if (s->free) {
        s->free = s->free->next;
    } else {
        p = reinterpret_cast<unsigned char*>(s) + s->fresh;
        s->fresh += u32(size_of(kind));
    }
    s->used++;
    if (!s->free && s->fresh == s->end) unlink(s);
    count(i64(size_of(kind)));
    return p;
}

// Does not count: the bytes were subtracted where they were freed.
void heap::put(slab* s, block* b) noexcept {
    bool full = !s->free && s->fresh == s->end;
    b->next = s->free;
    s->free = b;
    s->used--;
    if (full) link(s);
    if (s->used == 0 &&
        (s->next || s->before)) { // keep one, so that a single block does not map and unmap
        unlink(s);
        retire(s);
    }
}

void heap::collect() noexcept {
    block* b = returned.exchange(nullptr, order::acquire);
    while (b) {
        block* one = b;
        b = b->next;
        put(slab_at(one), one);
    }
}

void* allocate(usize bytes) {
    if constexpr (modelled) return model::allocate(bytes);
    if (plain || bytes > largest) {
        void* p = malloc(bytes);
        if (!p) die_out_of_memory();
        return p;
    }
    if (mine) return mine->take(class_of(bytes));
    locked guard(foreign_lock);
    return foreign_heap.take(class_of(bytes));
}

void release(void* p, usize bytes) noexcept {
    if constexpr (modelled) return model::release(p, bytes);
    if (plain || bytes > largest) return free(p);
    slab* s = slab_at(p);
    auto* b = static_cast<block*>(p);
    i64 size = i64(size_of(class_of(bytes)));
    if (mine) mine->count(-size);
    else foreign_heap.bytes.fetch_sub(size, order::relaxed);
    if (mine && s->owner == mine) return mine->put(s, b);
    atomic<block*>& to = s->owner->returned;
    b->next = to.load(order::relaxed);
    while (!to.compare_exchange(b->next, b, order::release, order::relaxed)) {}
}

heap* open_heap() {
    if (plain) return nullptr;
    locked guard(common);
    heap* h = idle;
    if (h) {
        idle = h->next_idle;
    } else {
        h = new (place{aligned_alloc(64, sizeof(heap))}) heap;
        h->next = every;
        every = h;
    }
    return mine = h;
}

void close_heap(heap* h) noexcept {
    mine = nullptr;
    if (!h) return;
    h->collect();
    locked guard(common);
    h->next_idle = idle;
    idle = h;
}

usize small_bytes_in_use() noexcept {
    i64 sum = foreign_heap.bytes.load(order::relaxed);
    locked guard(common);
    for (heap* h = every; h; h = h->next) sum += h->bytes.load(order::relaxed);
    return usize(sum);
}

} // namespace eve

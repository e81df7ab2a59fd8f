#pragma once
// Memory for small blocks: tasks, objects and other short-lived data. Every worker has slabs of
// its own, so allocating and freeing touch no shared word while a block stays with its worker. A
// block that is freed elsewhere returns by a list, which the worker empties when it runs out.
//
//   void* p = allocate(48);
//   release(p, 48);
#include "base.hpp"

namespace eve {

struct heap; // a worker's slabs

// Any thread. Never null: the process ends when there is no memory. Aligned to 16 bytes.
[[nodiscard]] void* allocate(usize bytes);
// Any thread. `bytes` is the size that was allocated.
void release(void* block, usize bytes) noexcept;

// The slabs of the calling worker. Called when it starts and when it has ended.
heap* open_heap();
void close_heap(heap* h) noexcept;

// Bytes in use by small blocks, over all heaps. Exact while nobody else allocates. For tests and
// reports.
usize small_bytes_in_use() noexcept;

template <class T, class... Args> [[nodiscard]] T* create(Args&&... args) {
    return new (place{allocate(sizeof(T))}) T(forward<Args>(args)...);
}
template <class T> void destroy(T* x) noexcept {
    x->~T();
    release(x, sizeof(T));
}

} // namespace eve

#pragma once
// Small memory for tasks, objects and whatever lives shortly: every worker has slabs of its own, so
// that allocating and freeing touches no shared word while a block stays with its worker. A block
// freed elsewhere goes back by a list that its worker empties when it runs out.
//
//   void* p = allocate(48);
//   release(p, 48);
#include "base.hpp"

namespace eve {

struct heap; // a worker's slabs

// Any thread. Never null: the process ends when there is no memory. Aligned to 16 bytes.
[[nodiscard]] void* allocate(usize bytes);
// Any thread, with the size that it was allocated with.
void release(void* block, usize bytes) noexcept;

// The slabs of the calling worker, to be called when it starts and when it has ended.
heap* open_heap();
void close_heap(heap* h) noexcept;

// Bytes in use by small blocks, over all heaps. Exact when nobody else allocates; for
// tests and reports.
usize small_bytes_in_use() noexcept;

template <class T, class... Args> [[nodiscard]] T* create(Args&&... args) {
    return new (place{allocate(sizeof(T))}) T(forward<Args>(args)...);
}
template <class T> void destroy(T* x) noexcept {
    x->~T();
    release(x, sizeof(T));
}

} // namespace eve

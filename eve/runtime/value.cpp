// Memory of containers, and the code that vectors of all types share.
#include "format.hpp"
#include "vector.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace eve {

namespace {

// The most elements of a container: their bytes must fit a ptrdiff_t, and their number must be
// below pin_unit.
i64 limit_of(u64 size) noexcept {
    i64 by_bytes = largest<i64> / i64(size == 0 ? 1 : size);
    return by_bytes < capacity_mask ? by_bytes : capacity_mask;
}

} // namespace

void* buffer_resize(void* old, i64 n, u64 size) noexcept {
    if (n < 0 || n > limit_of(size)) die_out_of_memory();
    u64 wanted = u64(n) * size;
    void* p = std::realloc(old, wanted == 0 ? 1 : wanted);
    if (p == nullptr) die_out_of_memory();
    return p;
}

void* buffer_new(i64 n, u64 size) noexcept { return buffer_resize(nullptr, n, size); }

u64 low_bits(f64 x) noexcept {
    if (x != x || x - x != 0) return 0;
    f64 low = std::fmod(std::trunc(x), 18446744073709551616.0);
    return low < 0 ? wrap_neg(u64(-low)) : u64(low);
}

void vector_base::grow(u64 size, const site* here) {
    check_free(here);
    i64 first = size >= 32 ? 4 : i64(128 / size); // two cache lines at first
    i64 more = capacity_ < 1024 ? capacity_ * 2 : capacity_ + capacity_ / 2;
    i64 next = more < first ? first : more;
    items_ = buffer_resize(items_, next, size);
    capacity_ = next;
}

void vector_base::reserve_items(i64 n, u64 size, const site* here) {
    check_free(here);
    if (n <= capacity_) return;
    i64 more = capacity_ + capacity_ / 2;
    i64 next = more < n || more > limit_of(size) ? n : more;
    items_ = buffer_resize(items_, next, size);
    capacity_ = next;
}

void vector_base::open_gap(i64 i, u64 size, const site* here) {
    check_free(here);
    if (size_ == capacity_) grow(size, here);
    char* gap = static_cast<char*>(items_) + u64(i) * size;
    std::memmove(gap + size, gap, u64(size_ - i) * size);
    ++size_;
}

void vector_base::close_gap(i64 i, u64 size) noexcept {
    --size_;
    char* gap = static_cast<char*>(items_) + u64(i) * size;
    std::memmove(gap, gap + size, u64(size_ - i) * size);
}

namespace {

void check_integer_size(i64 size, const site* here) {
    if (size >= 1 && size <= 8) return;
    formatter f;
    f.text("an integer has 1 to 8 bytes, not ", 33);
    f.put(size);
    fail(here, f.take());
}

} // namespace

template <> void vector<character>::append_uint(u64 x, i64 size, const site* here) {
    check_integer_size(size, here);
    u64 wire =
        __builtin_bswap64(x << (64 - 8 * size)); // the first byte in memory is the most significant
    __builtin_memcpy(room(size, here), &wire, u64(size));
    grown(size);
}

template <> u64 vector<character>::uint_at(i64 at, i64 size, const site* here) const {
    check_integer_size(size, here);
    if (at < 0 || at >= size_) fail_index(at, size_, here);
    if (size > size_ - at) fail_index(at + size - 1, size_, here);
    u64 wire = 0;
    __builtin_memcpy(&wire, data() + at, u64(size));
    return __builtin_bswap64(wire) >> (64 - 8 * size);
}

template <> string vector<character>::hex() const {
    static constexpr char digits[] = "0123456789abcdef";
    string s;
    char* to = s.prepare(size_ * 2);
    for (character c : *this) {
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    return s;
}

} // namespace eve

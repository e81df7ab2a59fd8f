#pragma once
// set<T>: a hash table of elements in order of insertion.
#include "table.hpp"

namespace eve {

template <class T> class set : public table {
public:
    using iterator = table_iterator<const T, whole_entry>;

    set() noexcept = default;
    set(set&& o) noexcept = default;
    set& operator=(set&& o) {
        check_free(nullptr);
        set fresh(static_cast<set&&>(o));
        drop();
        take(fresh);
        return *this;
    }
    set(const set&) = delete;
    set& operator=(const set&) = delete;
    ~set() { drop(); }

    template <class... Ts> static set of(Ts&&... xs) {
        set s;
        s.reserve(i64(sizeof...(Ts)));
        (s.insert(T(static_cast<Ts&&>(xs))), ...);
        return s;
    }
    set copy() const {
        set s;
        s.reserve(live_);
        for (const T& x : *this) s.insert(copy_of(x));
        return s;
    }
    void reserve(i64 n, const site* here = nullptr) { reserve_entries(n, sizeof(T), here); }

    bool has(const T& x) const { return live_ != 0 && index_of(x, mark_of(hash_of(x))) >= 0; }
    // Returns whether x is new.
    bool insert(T x, const site* here = nullptr) {
        check_free(here);
        u32 mark = mark_of(hash_of(x));
        if (index_of(x, mark) >= 0) return false;
        i64 i = add_entry(mark, sizeof(T), here);
        new (place{entries() + i}) T(static_cast<T&&>(x));
        return true;
    }
    // Returns whether x was there.
    bool remove(const T& x, const site* here = nullptr) {
        check_free(here);
        i64 i = index_of(x, mark_of(hash_of(x)));
        if (i < 0) return false;
        [[maybe_unused]] T gone(static_cast<T&&>(entries()[i]));
        entries()[i].~T();
        remove_entry(i);
        return true;
    }
    void clear(const site* here = nullptr) {
        check_free(here);
        set gone(static_cast<set&&>(*this));
    }

    iterator begin() const noexcept { return iterator(entries(), marks_, marks_ + used_); }
    iterator end() const noexcept {
        return iterator(entries() + used_, marks_ + used_, marks_ + used_);
    }

    friend bool operator==(const set& a, const set& b) {
        if (a.size() != b.size()) return false;
        for (const T& x : a) {
            if (!b.has(x)) return false;
        }
        return true;
    }

private:
    T* entries() const noexcept { return static_cast<T*>(entries_); }
    i64 index_of(const T& x, u32 mark) const {
        return find_entry(mark, [&](i64 i) { return entries()[i] == x; });
    }
    void drop() noexcept {
        if constexpr (!__has_trivial_destructor(T)) {
            for (i64 i = 0; i < used_; ++i) {
                if (marks_[i] != 0) entries()[i].~T();
            }
        }
        free_all();
    }
};

} // namespace eve

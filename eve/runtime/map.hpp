#pragma once
// map<K, V>: a hash table in order of insertion. Iterating gives (key, value) tuples. A key that
// is set again keeps its place in the order.
#include "table.hpp"

namespace eve {

template <class K, class V> class map : public table {
public:
    using entry = tuple<K, V>;
    using iterator = table_iterator<const entry, whole_entry>;

    map() noexcept = default;
    map(map&& o) noexcept = default;
    map& operator=(map&& o) {
        check_free(nullptr);
        map fresh(static_cast<map&&>(o));
        drop();
        take(fresh);
        return *this;
    }
    map(const map&) = delete;
    map& operator=(const map&) = delete;
    ~map() { drop(); }

    // A map of these (key, value) tuples.
    template <class... Es> static map of(Es&&... es) {
        map m;
        m.reserve(i64(sizeof...(Es)));
        (m.set_entry(entry(static_cast<Es&&>(es))), ...);
        return m;
    }
    map copy() const {
        map m;
        m.reserve(live_);
        for (const entry& e : *this) m.append(e.copy());
        return m;
    }
    void reserve(i64 n, const site* here = nullptr) { reserve_entries(n, sizeof(entry), here); }

    bool has(const K& key) const { return index_of(key) >= 0; }
    // The address of the value of key, or null. Valid until the map changes.
    V* find(const K& key) {
        i64 i = index_of(key);
        return i < 0 ? nullptr : &entries()[i].tail.head;
    }
    const V* find(const K& key) const { return const_cast<map*>(this)->find(key); }
    // m[key]: fails if the key is absent.
    V& at(const K& key, const site* here) {
        V* v = find(key);
        if (v == nullptr) [[unlikely]]
            fail_key(here);
        return *v;
    }
    const V& at(const K& key, const site* here) const {
        return const_cast<map*>(this)->at(key, here);
    }
    option<V> get(const K& key) const {
        const V* v = find(key);
        return v == nullptr ? option<V>() : option<V>(V(*v));
    }
    void set(K key, V value, const site* here = nullptr) {
        check_free(here);
        u32 mark = mark_of(hash_of(key));
        i64 i = index_of(key, mark);
        if (i >= 0) value_at(i) = static_cast<V&&>(value);
        else add(mark, entry(static_cast<K&&>(key), static_cast<V&&>(value)), here);
    }
    // The value of key in its place. An absent key gets a zero value.
    V& slot(K key, const site* here = nullptr) {
        check_free(here);
        u32 mark = mark_of(hash_of(key));
        i64 i = index_of(key, mark);
        if (i < 0) i = add(mark, entry(static_cast<K&&>(key), zero_of<V>()), here);
        return value_at(i);
    }
    V get_or_add(K key, const site* here = nullptr) { return slot(static_cast<K&&>(key), here); }
    bool remove(const K& key, const site* here = nullptr) {
        check_free(here);
        i64 i = index_of(key);
        if (i < 0) return false;
        [[maybe_unused]] entry gone(static_cast<entry&&>(entries()[i]));
        entries()[i].~entry();
        remove_entry(i);
        return true;
    }
    void clear(const site* here = nullptr) {
        check_free(here);
        map gone(static_cast<map&&>(*this));
    }
    vector<K> keys() const {
        vector<K> v;
        v.reserve(live_);
        for (const entry& e : *this) v.push(K(e.head));
        return v;
    }
    vector<V> values() const {
        vector<V> v;
        v.reserve(live_);
        for (const entry& e : *this) v.push(V(e.tail.head));
        return v;
    }

    iterator begin() const noexcept { return iterator(entries(), marks_, marks_ + used_); }
    iterator end() const noexcept {
        return iterator(entries() + used_, marks_ + used_, marks_ + used_);
    }

    // Equal when the same keys have equal values, in any order.
    friend bool operator==(const map& a, const map& b) {
        if (a.size() != b.size()) return false;
        for (const entry& e : a) {
            const V* v = b.find(e.head);
            if (v == nullptr || !(*v == e.tail.head)) return false;
        }
        return true;
    }

private:
    entry* entries() const noexcept { return static_cast<entry*>(entries_); }
    V& value_at(i64 i) const noexcept { return entries()[i].tail.head; }
    i64 index_of(const K& key) const {
        return live_ == 0 ? -1 : index_of(key, mark_of(hash_of(key)));
    }
    i64 index_of(const K& key, u32 mark) const {
        return find_entry(mark, [&](i64 i) { return entries()[i].head == key; });
    }
    i64 add(u32 mark, entry&& e, const site* here) {
        i64 i = add_entry(mark, sizeof(entry), here);
        new (place{entries() + i}) entry(static_cast<entry&&>(e));
        return i;
    }
    void append(entry&& e) {
        u32 mark = mark_of(hash_of(e.head));
        add(mark, static_cast<entry&&>(e), nullptr);
    }
    void set_entry(entry&& e) { set(static_cast<K&&>(e.head), static_cast<V&&>(e.tail.head)); }
    void drop() noexcept {
        if constexpr (!__has_trivial_destructor(K) || !__has_trivial_destructor(V)) {
            for (i64 i = 0; i < used_; ++i) {
                if (marks_[i] != 0) entries()[i].~entry();
            }
        }
        free_all();
    }
};

} // namespace eve

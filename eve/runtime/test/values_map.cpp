// Maps and sets against std::unordered_map and a list in order of insertion.
#include "../map.hpp"

#include "../array.hpp"
#include "../set.hpp"
#include "values_check.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

using namespace eve;

namespace {

template <class K> K key(long x) {
    if constexpr (__is_same(K, eve::string))
        return text(std::to_string(x) + (x & 1 ? " with a tail of many bytes" : ""));
    else if constexpr (__is_same(K, tuple<i64, eve::string>))
        return K(x % 10, text(std::to_string(x / 10)));
    else return K(x);
}

struct model {
    std::unordered_map<long, long> values;
    std::vector<long> order;
    bool remove(long k) {
        order.erase(std::remove(order.begin(), order.end(), k), order.end());
        return values.erase(k) == 1;
    }
};

template <class K> void check_order(const map<K, i64>& m, const model& w) {
    std::size_t i = 0;
    bool same = true;
    for (const tuple<K, i64>& e : m) {
        same = same && i < w.order.size() && get<0>(e) == key<K>(w.order[i]) &&
               get<1>(e) == w.values.at(w.order[i]);
        ++i;
    }
    expect(same && i == w.order.size() && m.size() == long(i),
           "iteration gives all in the order of insertion");
}

template <class K> void check_random(long range, int steps) {
    dice d;
    map<K, i64> m;
    model w;
    for (int step = 0; step < steps; ++step) {
        long k = d.below(range), v = d.below(1000);
        switch (d.below(8)) {
        case 0:
        case 1:
        case 2:
            if (w.values.count(k) == 0) w.order.push_back(k);
            w.values[k] = v;
            m.set(key<K>(k), v, &here);
            break;
        case 3:
        case 4:
            expect(m.remove(key<K>(k), &here) == w.remove(k), "remove says whether it was there");
            break;
        case 5:
            if (w.values.count(k) == 0) {
                w.order.push_back(k);
                w.values[k] = 0;
            }
            expect(m.get_or_add(key<K>(k), &here) == w.values[k], "get_or_add");
            break;
        case 6: {
            option<i64> got = m.get(key<K>(k));
            auto want = w.values.find(k);
            expect(got.has() == (want != w.values.end()) && (!got.has() || *got == want->second),
                   "get");
            expect(m.has(key<K>(k)) == got.has(), "has");
            break;
        }
        default:
            if (d.below(400) == 0) {
                m.clear();
                w = {};
            } else if (d.below(50) == 0) {
                map<K, i64> copy = m.copy();
                expect(copy == m && copy.keys().size() == m.size(), "a copy is equal");
                m = static_cast<map<K, i64>&&>(copy);
            }
        }
        if (step % 64 == 0) check_order(m, w);
    }
    check_order(m, w);
}

void check_growth() {
    map<i64, i64> m;
    for (i64 i = 0; i < 100000; ++i) m.set(i << 20, i);
    bool all = true;
    for (i64 i = 0; i < 100000; ++i) all = all && *m.find(i << 20) == i && !m.has((i << 20) + 1);
    expect(all, "100 000 keys whose low bits are equal");
    // A queue: removing at the front makes room at the back, and the table stays small.
    map<i64, i64> queue;
    for (i64 i = 0; i < 100000; ++i) {
        queue.set(i, i);
        if (i >= 10) queue.remove(i - 10);
    }
    i64 next = 99990;
    for (const auto& e : queue) expect(get<0>(e) == next++, "a queue in order");
    expect(next == 100000, "a queue of ten");
}

void check_owned() {
    map<eve::string, vector<i64>> m;
    m.slot(text("a")).push(1);
    m.slot(text("a")).push(2);
    m.set(text("b"), vector<i64>::of(3));
    expect(m.at(text("a"), &here).size() == 2 && m.at(text("b"), &here)[0] == 3,
           "values stay in place");
    expect(failure_of([&] { m.at(text("c"), &here); }) == "the map has no such key", "no such key");
    m.set(text("b"), vector<i64>());
    expect(m.at(text("b"), &here).empty(), "a value is replaced");
    map<eve::string, i64> n = map<eve::string, i64>::of(tuple<eve::string, i64>(text("x"), 1),
                                                        tuple<eve::string, i64>(text("y"), 2));
    expect(n.values() == vector<i64>::of(1, 2), "values in order");
    expect(n == (map<eve::string, i64>::of(tuple<eve::string, i64>(text("y"), 2),
                                           tuple<eve::string, i64>(text("x"), 1))),
           "equality does not ask for the order");
}

void check_pins() {
    map<i64, i64> m;
    set<i64> s;
    m.set(1, 1);
    s.insert(1);
    {
        iteration<map<i64, i64>> g(m);
        iteration<set<i64>> h(s);
        expect(!failure_of([&] { m.set(2, 2, &here); }).empty() &&
                   !failure_of([&] { m.remove(1, &here); }).empty(),
               "a pinned map");
        expect(!failure_of([&] { m.get_or_add(3, &here); }).empty() &&
                   !failure_of([&] { m.clear(&here); }).empty(),
               "a pinned map");
        expect(*m.get(1) == 1 && m.has(1) && !m.has(2), "reading goes on");
        expect(!failure_of([&] { s.insert(2, &here); }).empty() &&
                   !failure_of([&] { s.remove(1, &here); }).empty(),
               "a pinned set");
    }
    m.set(2, 2);
    s.insert(2);
    expect(m.size() == 2 && s.size() == 2, "after the loop they may change");
}

enum class color { red, green, blue };

struct point {
    i64 x, y;
    u64 hash_value() const { return hash_join(hash_of(x), hash_of(y)); }
    friend bool operator==(const point& a, const point& b) { return a.x == b.x && a.y == b.y; }
};

template <class T> void check_set(T a, T b) {
    set<T> s;
    expect(s.insert(a) && !s.insert(a) && s.insert(b) && s.size() == 2, "insert");
    expect(s.has(a) && s.remove(a) && !s.remove(a) && !s.has(a) && s.has(b), "remove");
    expect(s.insert(a) && *s.begin() == b, "what comes again comes last");
    set<T> t = set<T>::of(a, b);
    expect(t == s && t.copy() == s, "sets are equal in any order");
    t.clear();
    expect(t.empty() && !t.has(a) && t.begin() == t.end(), "clear");
}

// Nobody may know in advance many keys that one seed would send to one slot: the seed differs
// between runs.
void check_seed() {
    expect(hash_seed[0] != 0 && hash_seed[1] != 0 && hash_seed[0] != hash_seed[1],
           "the seed was drawn");
    u64 seen[256] = {};
    for (i64 i = 0; i < 256 * 64; ++i) ++seen[hash_of(i * 4096) & 255];
    u64 most = *std::max_element(seen, seen + 256);
    expect(most < 64 * 4, "low bits of hashes are spread");
}

} // namespace

int main() {
    check_random<i64>(100, 30000);
    check_random<i64>(5000, 60000);
    check_random<u16>(300, 10000);
    check_random<eve::string>(200, 30000);
    check_random<tuple<i64, eve::string>>(200, 10000);
    check_growth();
    check_owned();
    check_pins();
    check_set<i64>(1, 2);
    check_set<bool>(true, false);
    check_set<color>(color::red, color::blue);
    check_set<point>({1, 2}, {2, 1});
    check_set<eve::string>(text("a"), text("a longer text than fifteen bytes"));
    check_set<array<i64, 2>>(array<i64, 2>::of(1, 2), array<i64, 2>::of(2, 1));
    check_seed();
    return finish();
}

// Vectors, slices and arrays against std::vector, elements that count themselves, and
// iteration that pins.
#include "../vector.hpp"

#include "../array.hpp"
#include "values_check.hpp"

#include <thread>
#include <vector>

using namespace eve;

namespace {

// An element that owns memory and can only be moved.
struct owner {
    long* held = nullptr;
    static inline long alive = 0;
    owner() : owner(0) {}
    owner(long x) : held(new long(x)) { ++alive; }
    owner(owner&& o) noexcept : held(o.held) { o.held = nullptr; }
    owner& operator=(owner&& o) noexcept {
        std::swap(held, o.held);
        return *this;
    }
    ~owner() {
        if (held != nullptr) --alive;
        delete held;
    }
    owner copy() const { return owner(*held); }
    friend bool operator==(const owner& a, const owner& b) { return *a.held == *b.held; }
    friend bool operator<(const owner& a, const owner& b) { return *a.held < *b.held; }
};

template <class T> T make(long x) {
    if constexpr (__is_same(T, eve::string))
        return text(std::to_string(x) + (x % 3 == 0 ? " and a long tail of text" : ""));
    else return T(x);
}

template <class T> void check_same(const vector<T>& v, const std::vector<long>& m) {
    bool ok = v.size() == long(m.size()) && v.empty() == m.empty();
    for (std::size_t i = 0; ok && i < m.size(); ++i) ok = v[long(i)] == make<T>(m[i]);
    expect(ok, "the vector holds what the model holds");
}

template <class T> void check_random() {
    dice d;
    vector<T> v;
    std::vector<long> m;
    for (int step = 0; step < 6000; ++step) {
        long x = d.below(1000), n = v.size();
        switch (d.below(11)) {
        case 0:
        case 1:
        case 2:
            v.push(make<T>(x));
            m.push_back(x);
            break;
        case 3: {
            option<T> got = v.pop();
            expect(got.has() == !m.empty() && (m.empty() || *got == make<T>(m.back())), "pop");
            if (!m.empty()) m.pop_back();
            break;
        }
        case 4: {
            long i = d.below(n + 1);
            v.insert(i, make<T>(x));
            m.insert(m.begin() + i, x);
            break;
        }
        case 5: {
            if (n == 0) break;
            long i = d.below(n);
            expect(v.remove(i) == make<T>(m[std::size_t(i)]), "remove gives the element");
            m.erase(m.begin() + i);
            break;
        }
        case 6: {
            if (n > 200) break;
            long low = d.below(n + 1);
            v.append(v.cut(low, n, &here));
            for (long i = low; i < n; ++i) m.push_back(m[std::size_t(i)]);
            break;
        }
        case 7:
            v.reverse();
            m = std::vector<long>(m.rbegin(), m.rend());
            break;
        case 8: {
            if (n == 0) break;
            long i = d.below(n), j = d.below(n);
            v.swap(i, j, &here);
            std::swap(m[std::size_t(i)], m[std::size_t(j)]);
            break;
        }
        case 9: {
            vector<T> w = v.copy();
            expect(w == v, "a copy is equal");
            v = static_cast<vector<T>&&>(w);
            break;
        }
        default:
            if (n > 300 || x < 5) {
                v.clear();
                m.clear();
            } else if (n > 0) {
                v.resize(n / 2);
                m.resize(std::size_t(n / 2));
            }
        }
        if (step % 16 == 0) check_same(v, m);
    }
    check_same(v, m);
}

void check_places() {
    vector<i64> v = vector<i64>::of(1, 2, 3);
    expect(v.at(2, &here) == 3, "at");
    expect(failure_of([&] { v.at(3, &here); }) == "index 3 is out of range: there are 3 elements",
           "index behind the end");
    expect(failure_of([&] { v.at(-1, &here); }) == "index -1 is out of range: there are 3 elements",
           "index before the start");
    expect(!failure_of([&] { v.insert(4, 0, &here); }).empty() &&
               !failure_of([&] { v.remove(3, &here); }).empty(),
           "bad places");
    expect(failure_of([&] { v.cut(2, 1, &here); }) == "2..1 is out of range: there are 3 elements",
           "bad cut");
    expect(!failure_of([&] { v.resize(-1, &here); }).empty() &&
               !failure_of([&] { v.swap(0, 3, &here); }).empty(),
           "bad size");
    expect(*v.first() == 1 && *v.last() == 3 && !vector<i64>().first().has() &&
               !vector<i64>().pop().has(),
           "first and last");
    expect(v.contains(2) && *v.index_of(3) == 2 && !v.index_of(9).has(), "search");
    try {
        v.at(7, &here);
    } catch (const failure& f) {
        expect_text(f.message(), "test.eve:7: index 7 is out of range: there are 3 elements");
    }
    v.resize(5);
    expect(v == vector<i64>::of(1, 2, 3, 0, 0), "new elements are zero");
    auto [low, high] = std::pair(get<0>(v.split(2)), get<1>(v.split(2)));
    expect(low.size() == 2 && high.size() == 3 && high[0] == 3, "split");
    high.fill(7);
    expect(v == vector<i64>::of(1, 2, 7, 7, 7), "a view changes its source");
    v.all().cut(1, 4, &here).copy_from(v.all().cut(0, 3, &here));
    expect(v == vector<i64>::of(1, 1, 2, 7, 7), "copy_from may overlap");
    v.all().cut(0, 3, &here).copy_from(v.all().cut(1, 4, &here));
    expect(v == vector<i64>::of(1, 2, 7, 7, 7), "copy_from may overlap the other way");
    expect(!failure_of([&] { low.copy_from(high, &here); }).empty(), "sizes must be one");
    expect(low.to_vector() == vector<i64>::of(1, 2), "to_vector");
}

// Changing an iterated container fails, also when two readers iterate it at once.
void check_pins() {
    vector<i64> v = vector<i64>::of(1, 2, 3);
    {
        iteration<vector<i64>> outer(v), inner(v);
        const char* why = "changed while it is iterated";
        expect(failure_of([&] { v.push(4, &here); }) == why, "push");
        expect(failure_of([&] { v.pop(&here); }) == why, "pop");
        expect(failure_of([&] { v.insert(0, 4, &here); }) == why, "insert");
        expect(failure_of([&] { v.remove(0, &here); }) == why, "remove");
        expect(failure_of([&] { v.clear(&here); }) == why, "clear");
        expect(failure_of([&] { v.resize(1, &here); }) == why, "resize");
        expect(failure_of([&] { v.append(v, &here); }) == why, "append");
        expect(failure_of([&] { v = vector<i64>(); }) == why, "assignment");
        v[0] = 9;
        expect(v.capacity() >= 3 && v.size() == 3, "reading goes on");
    }
    v.push(4);
    expect(v == vector<i64>::of(9, 2, 3, 4), "after the loop it may change");
    vector<vector<i64>> nested;
    nested.push(v.copy());
    for (vector<i64>& inner : nested) inner.push(5);
    expect(nested[0].size() == 5, "elements may change in place");
}

// Readers in several threads pin one vector; after the last one it may change.
void check_readers() {
    vector<i64> v = vector<i64>::of(1, 2, 3);
    std::vector<std::thread> readers;
    for (int t = 0; t < 4; ++t) {
        readers.emplace_back([&v] {
            for (int i = 0; i < 3000; ++i) {
                iteration<vector<i64>> guard(v);
                i64 sum = 0;
                for (i64 x : v) sum += x;
                if (sum != 6) std::abort();
            }
        });
    }
    for (auto& t : readers) t.join();
    v.push(4);
    expect(v.size() == 4 && v.capacity() >= 4, "no pin is left");
}

void check_arrays() {
    array<i64, 4> a;
    expect(a[0] == 0 && a[3] == 0 && a.size() == 4, "an array begins with zeros");
    a.at(1, &here) = 5;
    array<i64, 4> b = a;
    b[1] = 6;
    expect(a[1] == 5 && !(a == b), "an array is copied by =");
    expect(!failure_of([&] { a.at(4, &here); }).empty(), "bad index");
    a.fill(3);
    a.swap(0, 3);
    a.sort();
    expect((a == array<i64, 4>::of(3, 3, 3, 3)) && a.contains(3) &&
               a.hash_value() != b.hash_value(),
           "array methods");
    array<eve::string, 2> s =
        array<eve::string, 2>::of(text("a longer text than fifteen"), text("b"));
    array<eve::string, 2> t = s.copy();
    s[0] = text("c");
    expect_text(t[0], "a longer text than fifteen");
    array<owner, 3> o;
    array<owner, 3> p = o.copy();
    array<owner, 3> q = static_cast<array<owner, 3>&&>(p);
    q = static_cast<array<owner, 3>&&>(o);
    expect(q[2] == owner(0), "an array of what is only moved");
    array<i64, 0> none_at_all;
    expect(none_at_all.size() == 0 && none_at_all.begin() == none_at_all.end(),
           "an array of nothing");
}

void check_bytes() {
    bytes b;
    b.append_text(text("hello"));
    character* to = b.room(1000);
    for (int i = 0; i < 3; ++i) to[i] = character('x');
    b.grown(3);
    expect_text(b.text(), "helloxxx");
    expect_text((b + b).text(), "helloxxxhelloxxx");
}

} // namespace

int main() {
    check_random<i64>();
    check_random<i32>();
    check_random<eve::string>();
    check_places();
    check_pins();
    check_readers();
    check_arrays();
    check_bytes();
    {
        vector<owner> v;
        for (long i = 0; i < 100; ++i) v.insert(i / 2, owner(i));
        vector<owner> w = v.copy();
        w.remove(3);
        w.pop();
        w.resize(150);
        v.clear();
        expect(owner::alive == 150, "every element is destroyed once");
        w = static_cast<vector<owner>&&>(v);
    }
    expect(owner::alive == 0, "no element is left");
    return finish();
}

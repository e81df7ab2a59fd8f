// Sorting and partitioning of many shapes of input against std::sort.
#include "../vector.hpp"

#include "values_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace eve;

namespace {

const char* const shapes[] = {"random", "sorted", "reversed", "equal", "few",
                              "saw",    "organ",  "almost",   "runs",  "zigzag"};

long shaped(const std::string& shape, long i, long n, dice& d) {
    if (shape == "sorted") return i;
    if (shape == "reversed") return n - i;
    if (shape == "equal") return 7;
    if (shape == "few") return d.below(3);
    if (shape == "saw") return i % 17;
    if (shape == "organ") return i < n / 2 ? i : n - i;
    if (shape == "almost") return d.below(20) == 0 ? d.below(n) : i;
    if (shape == "runs") return i * 7919 % (n / 8 + 1);
    if (shape == "zigzag") return i & 1 ? i : -i;
    return long(d.roll());
}

template <class T> T of(long x) {
    if constexpr (__is_same(T, eve::string)) return text(std::to_string(x));
    else if constexpr (__is_same(T, tuple<i64, eve::string>))
        return T(x % 5, text(std::to_string(x)));
    else if constexpr (is_float<T>) return T(x) / T(3);
    else return T(x);
}

template <class T> bool same_items(std::vector<T> a, std::vector<T> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
}

template <class T> void check_input(const std::vector<T>& input, const char* what) {
    long n = long(input.size());
    std::vector<T> sorted = input, mine = input;
    std::sort(sorted.begin(), sorted.end());
    sort_items(mine.data(), n);
    expect(mine == sorted, what);
    mine = input;
    long at = partition_items(mine.data(), n);
    expect(same_items(mine, input), "partition keeps the items");
    if (n < 2) return;
    expect(at > 0 && at < n && at >= n / 8 && n - at >= n / 8, "both parts are shorter");
    auto low = mine.begin(), cut = mine.begin() + at;
    expect(!(*std::min_element(cut, mine.end()) < *std::max_element(low, cut)),
           "nothing before the cut is greater");
}

template <class T> void check_type(std::vector<long> sizes) {
    dice d;
    for (const char* shape : shapes) {
        for (long n : sizes) {
            std::vector<T> v;
            for (long i = 0; i < n; ++i) v.push_back(of<T>(shaped(shape, i, n, d)));
            check_input(v, shape);
        }
    }
}

std::vector<long> small_sizes() {
    std::vector<long> v;
    for (long n = 0; n < 70; ++n) v.push_back(n);
    return v;
}

// All inputs of up to 9 items of 4 values, which reach every path through the short runs.
void check_all_short() {
    for (long n = 0; n <= 8; ++n) {
        for (long code = 0; code < 1l << (2 * n); ++code) {
            std::vector<i32> v;
            for (long i = 0; i < n; ++i) v.push_back(i32(code >> (2 * i) & 3));
            std::vector<i32> sorted = v;
            std::sort(sorted.begin(), sorted.end());
            sort_items(v.data(), n);
            if (v != sorted) return expect(false, "short input");
        }
    }
}

void check_special_floats() {
    std::vector<f64> v;
    dice d;
    for (int i = 0; i < 500; ++i) {
        double odd[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.5, -1.5};
        v.push_back(odd[d.below(8)]);
    }
    auto bits = [](double x) {
        u64 b;
        std::memcpy(&b, &x, 8);
        return b;
    };
    std::vector<u64> before, after;
    for (double x : v) before.push_back(bits(x));
    sort_items(v.data(), long(v.size()));
    for (double x : v) after.push_back(bits(x));
    std::sort(before.begin(), before.end());
    std::vector<u64> sorted_bits = after;
    std::sort(sorted_bits.begin(), sorted_bits.end());
    expect(before == sorted_bits, "no NaN is lost or made");
    std::vector<double> rest;
    for (double x : v) {
        if (x == x) rest.push_back(x);
    }
    expect(std::is_sorted(rest.begin(), rest.end()), "numbers between NaNs are in order");
    expect(std::isnan(v.front()) && std::isnan(v.back()), "NaNs stand at the ends");
}

// McIlroy's adversary of quicksort: it answers comparisons so that every pivot is bad.
struct adversary {
    long id;
    static inline std::vector<long> value;
    static inline long solid, candidate, compared;
    friend bool operator<(const adversary& a, const adversary& b) {
        ++compared;
        long gas = long(value.size());
        long &x = value[std::size_t(a.id)], &y = value[std::size_t(b.id)];
        if (x == gas && y == gas) (a.id == candidate ? x : y) = solid++;
        if (x == gas) candidate = a.id;
        else if (y == gas) candidate = b.id;
        return x < y;
    }
};

void check_opponent() {
    long n = 20000;
    adversary::value.assign(std::size_t(n), n);
    adversary::solid = adversary::candidate = adversary::compared = 0;
    std::vector<adversary> v;
    for (long i = 0; i < n; ++i) v.push_back({i});
    sort_items(v.data(), n);
    expect(adversary::compared < 40 * n * 15, "no more than 40 n log n comparisons");
    bool sorted = true;
    for (std::size_t i = 1; i < v.size(); ++i)
        sorted &=
            adversary::value[std::size_t(v[i - 1].id)] <= adversary::value[std::size_t(v[i].id)];
    expect(sorted, "sorted in spite of the adversary");
}

// As par.sort does.
void quick(slice<i64> v) {
    if (v.size() < 1024) return v.sort();
    auto parts = v.partition();
    quick(get<0>(parts));
    quick(get<1>(parts));
}

void check_recursion() {
    dice d;
    for (const char* shape : shapes) {
        std::vector<i64> v;
        for (long i = 0; i < 20000; ++i) v.push_back(shaped(shape, i, 20000, d));
        std::vector<i64> sorted = v;
        std::sort(sorted.begin(), sorted.end());
        quick(slice<i64>(v.data(), long(v.size())));
        expect(v == sorted, shape);
    }
}

} // namespace

int main() {
    std::vector<long> big = {100, 129, 500, 1023, 4097, 70000};
    check_all_short();
    check_type<i64>(small_sizes());
    check_type<i64>(big);
    check_type<u64>({100, 5000});
    check_type<i32>({3, 33, 1000, 5000});
    check_type<u8>({3, 33, 65, 1000, 5000});
    check_type<i8>({3, 33, 65, 1000, 5000});
    check_type<u16>({3, 33, 1000, 5000});
    check_type<f64>(small_sizes());
    check_type<f64>({1000, 5000});
    check_type<f32>({3, 33, 1000, 5000});
    check_type<eve::string>({0, 1, 2, 3, 15, 16, 17, 18, 64, 65, 500, 1500});
    check_type<tuple<i64, eve::string>>({2, 17, 300, 1000});
    check_special_floats();
    check_opponent();
    check_recursion();
    return finish();
}

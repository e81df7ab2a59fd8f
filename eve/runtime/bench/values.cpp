// Containers against the STL's: nanoseconds for each element, the best of five runs, so that other
// load on the machine disturbs little. One thread.
//
// g++ -std=c++20 -O2 -I.. values.cpp
// ../{fail,format,hash,instant,output,result,sort,string,table,value}.cpp -o values && ./values
#include "../format.hpp"
#include "../map.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

using namespace eve;

namespace {

volatile i64 sink; // keeps the compiler from removing the measured code

// The best time of five for work(), in nanoseconds for each of n elements. `before` is not timed.
template <class Before, class Work> double best(i64 n, Before before, Work work) {
    double least = 1e30;
    for (int i = 0; i < 5; ++i) {
        auto input = before();
        auto start = std::chrono::steady_clock::now();
        sink = work(input);
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        least = std::min(least, took.count() / double(n));
    }
    return least;
}

void row(const char* what, double ours, double theirs) {
    std::printf("%-44s %8.2f %8.2f %6.2f\n", what, ours, theirs, theirs / ours);
}

std::vector<i64> keys(i64 n) {
    std::mt19937_64 random(1);
    std::vector<i64> v;
    for (i64 i = 0; i < n; ++i) v.push_back(i64(random() % u64(2 * n)));
    return v;
}

const auto nothing = [] { return 0; };

void sorts(i64 n, const char* what) {
    std::vector<i64> input = keys(n);
    row(what,
        best(
            n, [&] { return input; },
            [](auto& v) {
                sort_items(v.data(), i64(v.size()));
                return v[0];
            }),
        best(
            n, [&] { return input; },
            [](auto& v) {
                std::sort(v.begin(), v.end());
                return v[0];
            }));
}

void integer_maps(i64 n, const char* insert, const char* look) {
    std::vector<i64> k = keys(n);
    auto ours = [&](int) {
        map<i64, i64> m;
        for (i64 x : k) m.slot(x) += x;
        return m;
    };
    auto theirs = [&](int) {
        std::unordered_map<i64, i64> m;
        for (i64 x : k) m[x] += x;
        return m;
    };
    row(insert, best(n, nothing, [&](int) { return ours(0).size(); }),
        best(n, nothing, [&](int) { return i64(theirs(0).size()); }));
    row(look,
        best(
            n, [&] { return ours(0); },
            [&](auto& m) {
                i64 found = 0;
                for (i64 x : k) found += m.has(x + 1);
                return found;
            }),
        best(
            n, [&] { return theirs(0); },
            [&](auto& m) {
                i64 found = 0;
                for (i64 x : k) found += i64(m.count(x + 1));
                return found;
            }));
}

void string_maps(i64 n) {
    std::vector<std::string> words;
    for (i64 x : keys(n)) words.push_back("user" + std::to_string(x));
    std::vector<eve::string> ours;
    for (auto& w : words) ours.push_back(eve::string(w.data(), i64(w.size())));
    row("map<string, int>, count 100 k words",
        best(n, nothing,
             [&](int) {
                 map<eve::string, i64> m;
                 for (auto& w : ours) ++m.slot(w);
                 return m.size();
             }),
        best(n, nothing, [&](int) {
            std::unordered_map<std::string, i64> m;
            for (auto& w : words) ++m[w];
            return i64(m.size());
        }));
}

void strings(i64 n) {
    row("append 8 bytes to a string",
        best(n, nothing,
             [&](int) {
                 eve::string s, part = eve::string::literal("12345678");
                 for (i64 i = 0; i < n; ++i) s += part;
                 return s.size();
             }),
        best(n, nothing, [&](int) {
            std::string s, part = "12345678";
            for (i64 i = 0; i < n; ++i) s += part;
            return i64(s.size());
        }));
    row("format a line of a name and two numbers",
        best(n, nothing,
             [&](int) {
                 i64 all = 0;
                 for (i64 i = 0; i < n; ++i) {
                     formatter f;
                     f.text("user ", 5);
                     f.put(i);
                     f.text(": ", 2);
                     f.put(i * 7);
                     all += f.take().size();
                 }
                 return all;
             }),
        best(n, nothing, [&](int) {
            i64 all = 0;
            for (i64 i = 0; i < n; ++i) {
                std::string s = "user " + std::to_string(i) + ": " + std::to_string(i * 7);
                all += i64(s.size());
            }
            return all;
        }));
}

void pushes(i64 n) {
    row("push an int",
        best(n, nothing,
             [&](int) {
                 vector<i64> v;
                 for (i64 i = 0; i < n; ++i) v.push(i);
                 return v[n / 2];
             }),
        best(n, nothing, [&](int) {
            std::vector<i64> v;
            for (i64 i = 0; i < n; ++i) v.push_back(i);
            return v[std::size_t(n / 2)];
        }));
}

} // namespace

int main() {
    std::printf("%-44s %8s %8s %6s\n", "ns for each", "eve", "STL", "ratio");
    sorts(1000, "sort 1000 ints");
    sorts(1'000'000, "sort 1 M ints");
    integer_maps(1000, "map<int, int>, add 1000", "map<int, int>, look up in 1000");
    integer_maps(1'000'000, "map<int, int>, add 1 M", "map<int, int>, look up in 1 M");
    string_maps(100'000);
    strings(1'000'000);
    pushes(1'000'000);
}

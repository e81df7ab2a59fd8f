// Fork-join problems without a fork: plain recursion on one thread. Every model with tasks is held
// against this one: what a task costs is the difference on one worker, what it brings that on two.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using std::int64_t;
using std::uint64_t;

int64_t fib(int64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

// The columns and diagonals that earlier queens attack are bits of a row.
int64_t queens(unsigned all, unsigned columns, unsigned left, unsigned right)
{
	if (columns == all)
		return 1;
	int64_t solutions = 0;
	for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
		const unsigned place = free & -free;
		solutions += queens(all, columns | place, (left | place) << 1, (right | place) >> 1);
	}
	return solutions;
}

double curve(double x)
{
	return (x * x + 1) * x;
}

double integrate(double x1, double y1, double x2, double y2, double whole)
{
	const double half = (x2 - x1) / 2, x0 = x1 + half, y0 = curve(x0);
	const double left = (y1 + y0) / 2 * half, right = (y0 + y2) / 2 * half;
	if (left + right - whole < 1e-9 && whole - left - right < 1e-9)
		return left + right;
	return integrate(x1, y1, x0, y0, left) + integrate(x0, y0, x2, y2, right);
}

uint64_t term(uint64_t i)
{
	const uint64_t z = (i ^ (i >> 7)) * 0x9E3779B97F4A7C15;
	return z ^ (z >> 29);
}

using Numbers = std::vector<int64_t>;
using Matrix = std::vector<double>;

Numbers numbers(size_t n)
{
	Numbers out(n);
	uint64_t x = 88172645463325252;
	for (int64_t &v : out) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		v = static_cast<int64_t>(x >> 1);
	}
	return out;
}

Matrix matrix(size_t n, size_t a, size_t b, size_t mod)
{
	Matrix m(n * n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			m[i * n + j] = static_cast<double>((a * i + b * j) % mod);
	return m;
}

void multiply(const Matrix &a, const Matrix &b, Matrix &c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			const double x = a[i * n + k];
			for (size_t j = 0; j < n; j++)
				c[i * n + j] += x * b[k * n + j];
		}
}

int64_t hash(const Matrix &c, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			sum += c[i * n + j] * static_cast<double>((i + j) % 3 + 1);
	return static_cast<int64_t>(sum);
}

uint64_t hash(const Numbers &v)
{
	uint64_t h = 0;
	for (const int64_t x : v)
		h = h * 31 + static_cast<uint64_t>(x);
	return h;
}

// Runs work, whose result goes to text, and gives the seconds that it took.
template <typename Work> double seconds(Work work)
{
	const auto start = std::chrono::steady_clock::now();
	work();
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Solves a problem once: result and seconds, or seconds below zero for a kernel that is not known.
double solve(const char *kernel, int64_t size, char *text, size_t room)
{
	const auto n = static_cast<size_t>(size);
	const auto is = [&](const char *name) { return std::strcmp(kernel, name) == 0; };
	double took = -1;
	if (is("fib")) {
		int64_t r = 0;
		took = seconds([&] { r = fib(size); });
		std::snprintf(text, room, "%" PRId64, r);
	} else if (is("nqueens")) {
		int64_t r = 0;
		took = seconds([&] { r = queens((1u << n) - 1, 0, 0, 0); });
		std::snprintf(text, room, "%" PRId64, r);
	} else if (is("integrate")) {
		const auto x = static_cast<double>(size);
		double r = 0;
		took = seconds([&] { r = integrate(0, curve(0), x, curve(x), curve(x) / 2 * x); });
		std::snprintf(text, room, "%.6e", r);
	} else if (is("sum")) {
		uint64_t r = 0;
		took = seconds([&] { for (uint64_t i = 0; i < n; i++) r += term(i); });
		std::snprintf(text, room, "%" PRIu64, r);
	} else if (is("sort")) {
		Numbers v = numbers(n);
		took = seconds([&] { std::sort(v.begin(), v.end()); });
		std::snprintf(text, room, "%" PRIx64, hash(v));
	} else if (is("matmul")) {
		const Matrix a = matrix(n, 1, 2, 7), b = matrix(n, 3, 1, 5);
		Matrix c(n * n);
		took = seconds([&] { multiply(a, b, c, n); });
		std::snprintf(text, room, "%" PRId64, hash(c, n));
	}
	return took;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		std::fprintf(stderr, "usage: forkjoin KERNEL SIZE WORKERS [ROUNDS]\n");
		return 2;
	}
	const long rounds = argc > 4 ? std::atol(argv[4]) : 1;
	for (long i = 0; i < rounds; i++) {
		char text[64];
		const double took = solve(argv[1], std::atoll(argv[2]), text, sizeof text);
		if (took < 0) {
			std::fprintf(stderr, "forkjoin: no kernel %s\n", argv[1]);
			return 2;
		}
		std::printf("%s %.9f\n", text, took);
		std::fflush(stdout);
	}
	return 0;
}

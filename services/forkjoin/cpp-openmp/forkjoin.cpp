// Fork-join problems in OpenMP: pragmas on the plain program. Loops are shared out, recursions make
// tasks, and sort is the C++ library's parallel mode, which is made with OpenMP.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <omp.h>
#include <parallel/algorithm>

namespace {

using std::int64_t;
using std::uint64_t;

// Runs work on one thread of a team; the others take its tasks.
template <typename Work> auto in_tasks(Work work)
{
	decltype(work()) result{};
#pragma omp parallel
#pragma omp single
	result = work();
	return result;
}

int64_t fib(int64_t n)
{
	if (n < 2)
		return n;
	int64_t a = 0, b = 0;
#pragma omp task shared(a)
	a = fib(n - 1);
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

// The columns and diagonals that earlier queens attack are bits of a row. Below the fourth row a
// task would be smaller than what it costs.
constexpr int task_rows = 4;

int64_t queens(unsigned all, unsigned columns, unsigned left, unsigned right, int row)
{
	if (columns == all)
		return 1;
	if (row >= task_rows) {
		int64_t solutions = 0;
		for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
			const unsigned place = free & -free;
			solutions += queens(all, columns | place, (left | place) << 1,
				(right | place) >> 1, row + 1);
		}
		return solutions;
	}
	int64_t parts[32] = {}, solutions = 0;
	int tasks = 0;
	for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
		const unsigned place = free & -free;
		int64_t *part = &parts[tasks++];
#pragma omp task
		*part = queens(all, columns | place, (left | place) << 1, (right | place) >> 1, row + 1);
	}
#pragma omp taskwait
	for (int i = 0; i < tasks; i++)
		solutions += parts[i];
	return solutions;
}

double curve(double x)
{
	return (x * x + 1) * x;
}

constexpr int task_depth = 12;

double integrate(double x1, double y1, double x2, double y2, double whole, int depth)
{
	const double half = (x2 - x1) / 2, x0 = x1 + half, y0 = curve(x0);
	double left = (y1 + y0) / 2 * half, right = (y0 + y2) / 2 * half;
	if (left + right - whole < 1e-9 && whole - left - right < 1e-9)
		return left + right;
	if (depth >= task_depth)
		return integrate(x1, y1, x0, y0, left, depth + 1) +
			integrate(x0, y0, x2, y2, right, depth + 1);
#pragma omp task shared(left)
	left = integrate(x1, y1, x0, y0, left, depth + 1);
	right = integrate(x0, y0, x2, y2, right, depth + 1);
#pragma omp taskwait
	return left + right;
}

uint64_t term(uint64_t i)
{
	const uint64_t z = (i ^ (i >> 7)) * 0x9E3779B97F4A7C15;
	return z ^ (z >> 29);
}

uint64_t sum(size_t n)
{
	uint64_t r = 0;
#pragma omp parallel for reduction(+ : r)
	for (uint64_t i = 0; i < n; i++)
		r += term(i);
	return r;
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
#pragma omp parallel for
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
		took = seconds([&] { r = in_tasks([&] { return fib(size); }); });
		std::snprintf(text, room, "%" PRId64, r);
	} else if (is("nqueens")) {
		int64_t r = 0;
		took = seconds([&] { r = in_tasks([&] { return queens((1u << n) - 1, 0, 0, 0, 0); }); });
		std::snprintf(text, room, "%" PRId64, r);
	} else if (is("integrate")) {
		const auto x = static_cast<double>(size);
		double r = 0;
		took = seconds([&] {
			r = in_tasks([&] { return integrate(0, curve(0), x, curve(x), curve(x) / 2 * x, 0); });
		});
		std::snprintf(text, room, "%.6e", r);
	} else if (is("sum")) {
		uint64_t r = 0;
		took = seconds([&] { r = sum(n); });
		std::snprintf(text, room, "%" PRIu64, r);
	} else if (is("sort")) {
		Numbers v = numbers(n);
		took = seconds([&] { __gnu_parallel::sort(v.begin(), v.end()); });
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
	omp_set_num_threads(std::atoi(argv[3]));
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

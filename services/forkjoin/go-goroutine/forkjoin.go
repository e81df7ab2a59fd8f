// Fork-join problems on goroutines: the runtime's threads for everything, for some two hundred
// nanoseconds with each go statement and the wait for it.
package main

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

func fib(n int64) int64 {
	if n < 2 {
		return n
	}
	var a int64
	var both sync.WaitGroup
	both.Go(func() { a = fib(n - 1) })
	b := fib(n - 2)
	both.Wait()
	return a + b
}

// queens places the next one; the columns and diagonals that earlier queens attack are
// bits of a row.
func queens(all, columns, left, right uint32) (solutions int64) {
	if columns == all {
		return 1
	}
	for free := all &^ (columns | left | right); free != 0; free &= free - 1 {
		place := free & -free
		solutions += queens(all, columns|place, (left|place)<<1, (right|place)>>1)
	}
	return solutions
}

// taskRows is the number of rows below which a goroutine would cost more than its work.
const taskRows = 4

// queensApart has a goroutine for each place of a row. It is a function of its own, since variables
// that goroutines share are on the heap in every call, also in calls that start none.
func queensApart(all, columns, left, right uint32, row int) (solutions int64) {
	if row == taskRows || columns == all {
		return queens(all, columns, left, right)
	}
	var parts [32]int64
	var rest sync.WaitGroup
	for free := all &^ (columns | left | right); free != 0; free &= free - 1 {
		place := free & -free
		rest.Go(func() {
			parts[bits.TrailingZeros32(place)] = queensApart(all, columns|place, (left|place)<<1,
				(right|place)>>1, row+1)
		})
	}
	rest.Wait()
	for _, p := range parts {
		solutions += p
	}
	return solutions
}

func curve(x float64) float64 { return (x*x + 1) * x }

// halves are the middle of an interval, its value there and the trapezoids on both sides; fine says
// whether they differ little enough from the whole.
func halves(x1, y1, x2, y2, whole float64) (x0, y0, left, right float64, fine bool) {
	half := (x2 - x1) / 2
	x0 = x1 + half
	y0 = curve(x0)
	left, right = (y1+y0)/2*half, (y0+y2)/2*half
	return x0, y0, left, right, math.Abs(left+right-whole) < 1e-9
}

func integrate(x1, y1, x2, y2, whole float64) float64 {
	x0, y0, left, right, fine := halves(x1, y1, x2, y2, whole)
	if fine {
		return left + right
	}
	return integrate(x1, y1, x0, y0, left) + integrate(x0, y0, x2, y2, right)
}

const taskDepth = 12

// integrateApart has a goroutine for each left half.
func integrateApart(x1, y1, x2, y2, whole float64, depth int) float64 {
	if depth == taskDepth {
		return integrate(x1, y1, x2, y2, whole)
	}
	x0, y0, left, right, fine := halves(x1, y1, x2, y2, whole)
	if fine {
		return left + right
	}
	var both sync.WaitGroup
	both.Go(func() { left = integrateApart(x1, y1, x0, y0, left, depth+1) })
	right = integrateApart(x0, y0, x2, y2, right, depth+1)
	both.Wait()
	return left + right
}

func term(i uint64) uint64 {
	z := (i ^ (i >> 7)) * 0x9E3779B97F4A7C15
	return z ^ (z >> 29)
}

// share divides 0..n among the workers and waits for all.
func share(n int, work func(part, low, high int)) {
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { work(w, n*w/workers, n*(w+1)/workers) })
	}
	all.Wait()
}

func sum(n int) uint64 {
	parts := make([]uint64, runtime.GOMAXPROCS(0))
	share(n, func(part, low, high int) {
		var s uint64
		for i := uint64(low); i < uint64(high); i++ {
			s += term(i)
		}
		parts[part] = s
	})
	var s uint64
	for _, p := range parts {
		s += p
	}
	return s
}

// taskSort is the part of a sort that is left to the library.
const taskSort = 1 << 14

// mergeSort sorts v; buffer is as long.
func mergeSort(v, buffer []int64) {
	if len(v) <= taskSort {
		slices.Sort(v)
		return
	}
	half := len(v) / 2
	var both sync.WaitGroup
	both.Go(func() { mergeSort(v[:half], buffer[:half]) })
	mergeSort(v[half:], buffer[half:])
	both.Wait()
	copy(buffer, v)
	merge(buffer[:half], buffer[half:], v)
}

// merge joins two sorted parts, in halves that do not touch.
func merge(a, b, out []int64) {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(out) > taskSort {
		i := len(a) / 2
		j, _ := slices.BinarySearch(b, a[i])
		var both sync.WaitGroup
		both.Go(func() { merge(a[:i], b[:j], out[:i+j]) })
		merge(a[i:], b[j:], out[i+j:])
		both.Wait()
		return
	}
	for i := range out {
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			out[i], a = a[0], a[1:]
		} else {
			out[i], b = b[0], b[1:]
		}
	}
}

func numbers(n int) []int64 {
	v, x := make([]int64, n), uint64(88172645463325252)
	for i := range v {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		v[i] = int64(x >> 1)
	}
	return v
}

func matrix(n, a, b, mod int) []float64 {
	m := make([]float64, n*n)
	for i := range m {
		m[i] = float64((a*(i/n) + b*(i%n)) % mod)
	}
	return m
}

func multiply(a, b, c []float64, n int) {
	share(n, func(_, low, high int) {
		for i := low; i < high; i++ {
			row := c[i*n : (i+1)*n]
			for k := range n {
				x := a[i*n+k]
				for j, y := range b[k*n : (k+1)*n] {
					row[j] += x * y
				}
			}
		}
	})
}

func hashMatrix(c []float64, n int) string {
	var s float64
	for i, x := range c {
		s += x * float64((i/n+i%n)%3+1)
	}
	return fmt.Sprint(int64(s))
}

func hashNumbers(v []int64) string {
	var h uint64
	for _, x := range v {
		h = h*31 + uint64(x)
	}
	return strconv.FormatUint(h, 16)
}

// solve solves a problem once and gives its result in words and how long it took.
func solve(kernel string, n int) (result string, took time.Duration, ok bool) {
	timed := func(work func()) {
		start := time.Now()
		work()
		took = time.Since(start)
	}
	switch kernel {
	case "fib":
		timed(func() { result = fmt.Sprint(fib(int64(n))) })
	case "nqueens":
		timed(func() { result = fmt.Sprint(queensApart(1<<n-1, 0, 0, 0, 0)) })
	case "integrate":
		x := float64(n)
		timed(func() {
			result = fmt.Sprintf("%.6e", integrateApart(0, curve(0), x, curve(x), curve(x)/2*x, 0))
		})
	case "sum":
		timed(func() { result = fmt.Sprint(sum(n)) })
	case "sort":
		v, buffer := numbers(n), make([]int64, n)
		timed(func() { mergeSort(v, buffer) })
		result = hashNumbers(v)
	case "matmul":
		a, b, c := matrix(n, 1, 2, 7), matrix(n, 3, 1, 5), make([]float64, n*n)
		timed(func() { multiply(a, b, c, n) })
		result = hashMatrix(c, n)
	default:
		return "", 0, false
	}
	return result, took, true
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: forkjoin KERNEL SIZE WORKERS [ROUNDS]")
		os.Exit(2)
	}
	number := func(i, otherwise int) int {
		if i >= len(os.Args) {
			return otherwise
		}
		n, err := strconv.Atoi(os.Args[i])
		if err != nil || n < 0 {
			fmt.Fprintf(os.Stderr, "forkjoin: %q is no number\n", os.Args[i])
			os.Exit(2)
		}
		return n
	}
	size, rounds := number(2, 0), number(4, 1)
	runtime.GOMAXPROCS(number(3, 1))
	for range rounds {
		result, took, ok := solve(os.Args[1], size)
		if !ok {
			fmt.Fprintln(os.Stderr, "forkjoin: no kernel", os.Args[1])
			os.Exit(2)
		}
		fmt.Printf("%s %.9f\n", result, took.Seconds())
	}
}

// Fork-join problems on Java's ForkJoinPool: RecursiveTask for recursive problems; parallel streams
// and Arrays.parallelSort, which run in the same pool, for loops.
import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveTask;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

public class ForkJoin {
  static class Fib extends RecursiveTask<Long> {
    final long n;

    Fib(long n) {
      this.n = n;
    }

    @Override
    protected Long compute() {
      if (n < 2) {
        return n;
      }
      Fib a = new Fib(n - 1);
      a.fork();
      long b = new Fib(n - 2).compute();
      return a.join() + b;
    }
  }

  // The columns and diagonals that earlier queens attack are bits of a row. Below the fourth row
  // a task would cost more than its work.
  static final int TASK_ROWS = 4;

  static long queens(int all, int columns, int left, int right) {
    if (columns == all) {
      return 1;
    }
    long solutions = 0;
    for (int free = all & ~(columns | left | right); free != 0; free &= free - 1) {
      int place = free & -free;
      solutions += queens(all, columns | place, (left | place) << 1, (right | place) >>> 1);
    }
    return solutions;
  }

  static class Queens extends RecursiveTask<Long> {
    final int all, columns, left, right, row;

    Queens(int all, int columns, int left, int right, int row) {
      this.all = all;
      this.columns = columns;
      this.left = left;
      this.right = right;
      this.row = row;
    }

    @Override
    protected Long compute() {
      if (row >= TASK_ROWS || columns == all) {
        return queens(all, columns, left, right);
      }
      Queens[] tasks = new Queens[Integer.bitCount(all)];
      int n = 0;
      for (int free = all & ~(columns | left | right); free != 0; free &= free - 1) {
        int place = free & -free;
        tasks[n++] =
            new Queens(all, columns | place, (left | place) << 1, (right | place) >>> 1, row + 1);
      }
      long solutions = 0;
      for (Queens task : ForkJoinTask.invokeAll(Arrays.asList(tasks).subList(0, n))) {
        solutions += task.join();
      }
      return solutions;
    }
  }

  static double curve(double x) {
    return (x * x + 1) * x;
  }

  static final int TASK_DEPTH = 12;

  static class Integrate extends RecursiveTask<Double> {
    final double x1, y1, x2, y2, whole;
    final int depth;

    Integrate(double x1, double y1, double x2, double y2, double whole, int depth) {
      this.x1 = x1;
      this.y1 = y1;
      this.x2 = x2;
      this.y2 = y2;
      this.whole = whole;
      this.depth = depth;
    }

    @Override
    protected Double compute() {
      if (depth >= TASK_DEPTH) {
        return integrate(x1, y1, x2, y2, whole);
      }
      double half = (x2 - x1) / 2, x0 = x1 + half, y0 = curve(x0);
      double left = (y1 + y0) / 2 * half, right = (y0 + y2) / 2 * half;
      if (Math.abs(left + right - whole) < 1e-9) {
        return left + right;
      }
      Integrate a = new Integrate(x1, y1, x0, y0, left, depth + 1);
      a.fork();
      double b = new Integrate(x0, y0, x2, y2, right, depth + 1).compute();
      return a.join() + b;
    }
  }

  static double integrate(double x1, double y1, double x2, double y2, double whole) {
    double half = (x2 - x1) / 2, x0 = x1 + half, y0 = curve(x0);
    double left = (y1 + y0) / 2 * half, right = (y0 + y2) / 2 * half;
    if (Math.abs(left + right - whole) < 1e-9) {
      return left + right;
    }
    return integrate(x1, y1, x0, y0, left) + integrate(x0, y0, x2, y2, right);
  }

  static long term(long i) {
    long z = (i ^ (i >>> 7)) * 0x9E3779B97F4A7C15L;
    return z ^ (z >>> 29);
  }

  static long[] numbers(int n) {
    long x = 88172645463325252L;
    long[] v = new long[n];
    for (int i = 0; i < n; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
      v[i] = x >>> 1;
    }
    return v;
  }

  static double[] matrix(int n, int a, int b, int mod) {
    double[] m = new double[n * n];
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        m[i * n + j] = (a * i + b * j) % mod;
      }
    }
    return m;
  }

  static void multiplyRow(double[] a, double[] b, double[] c, int n, int i) {
    for (int k = 0; k < n; k++) {
      double x = a[i * n + k];
      for (int j = 0; j < n; j++) {
        c[i * n + j] += x * b[k * n + j];
      }
    }
  }

  static long hash(double[] c, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        sum += c[i * n + j] * ((i + j) % 3 + 1);
      }
    }
    return (long) sum;
  }

  static long hash(long[] v) {
    long h = 0;
    for (long x : v) {
      h = h * 31 + x;
    }
    return h;
  }

  static ForkJoinPool pool;

  // Runs work in the pool and prints its result, after text, with its time in seconds.
  static <T> void timed(Supplier<T> work, java.util.function.Function<T, String> text) {
    long start = System.nanoTime();
    T result = pool.submit(work::get).join();
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf("%s %.9f%n", text.apply(result), seconds);
  }

  static boolean solve(String kernel, int n) {
    switch (kernel) {
      case "fib" -> timed(() -> new Fib(n).invoke(), String::valueOf);
      case "nqueens" -> timed(() -> new Queens((1 << n) - 1, 0, 0, 0, 0).invoke(), String::valueOf);
      case "integrate" ->
          timed(
              () -> new Integrate(0, curve(0), n, curve(n), curve(n) / 2 * n, 0).invoke(),
              r -> String.format("%.6e", r));
      case "sum" ->
          timed(
              () -> LongStream.range(0, n).parallel().map(ForkJoin::term).sum(),
              Long::toUnsignedString);
      case "sort" -> {
        long[] v = numbers(n);
        timed(
            () -> {
              Arrays.parallelSort(v);
              return v;
            },
            r -> Long.toHexString(hash(r)));
      }
      case "matmul" -> {
        double[] a = matrix(n, 1, 2, 7), b = matrix(n, 3, 1, 5), c = new double[n * n];
        timed(
            () -> {
              IntStream.range(0, n).parallel().forEach(i -> multiplyRow(a, b, c, n, i));
              return c;
            },
            r -> String.valueOf(hash(r, n)));
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  public static void main(String[] args) {
    if (args.length < 3) {
      System.err.println("usage: forkjoin KERNEL SIZE WORKERS [ROUNDS]");
      System.exit(2);
    }
    System.setProperty(
        "java.util.concurrent.ForkJoinPool.common.parallelism", args[2]); // parallelSort asks it
    pool = new ForkJoinPool(Integer.parseInt(args[2]));
    long rounds = args.length > 3 ? Long.parseLong(args[3]) : 1;
    for (long i = 0; i < rounds; i++) {
      if (!solve(args[0], Integer.parseInt(args[1]))) {
        System.err.println("forkjoin: no kernel " + args[0]);
        System.exit(2);
      }
    }
  }
}

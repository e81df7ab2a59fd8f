//! Fork-join problems on rayon: join for recursive problems, parallel iterators and sorts for
//! loops.
use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::ThreadPoolBuilder;

fn fib(n: i64) -> i64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Below this row a task would cost more than its work.
const TASK_ROWS: u32 = 4;

/// The columns and diagonals that earlier queens attack are bits of a row.
fn queens(all: u32, columns: u32, left: u32, right: u32, row: u32) -> i64 {
    if columns == all {
        return 1;
    }
    let free = all & !(columns | left | right);
    let place = |p: u32| queens(all, columns | p, (left | p) << 1, (right | p) >> 1, row + 1);
    if row < TASK_ROWS {
        let places: Vec<u32> = (0..32).map(|i| 1 << i).filter(|p| free & p != 0).collect();
        return places.into_par_iter().map(place).sum();
    }
    let (mut free, mut solutions) = (free, 0);
    while free != 0 {
        solutions += place(free & free.wrapping_neg());
        free &= free - 1;
    }
    solutions
}

type Point = (f64, f64);

const TASK_DEPTH: u32 = 12;

fn integrate(from: Point, to: Point, whole: f64, depth: u32) -> f64 {
    let half = (to.0 - from.0) / 2.0;
    let middle = (from.0 + half, curve(from.0 + half));
    let left = (from.1 + middle.1) / 2.0 * half;
    let right = (middle.1 + to.1) / 2.0 * half;
    if (left + right - whole).abs() < 1e-9 {
        return left + right;
    }
    if depth >= TASK_DEPTH {
        return integrate(from, middle, left, depth + 1) + integrate(middle, to, right, depth + 1);
    }
    let (l, r) = rayon::join(
        || integrate(from, middle, left, depth + 1),
        || integrate(middle, to, right, depth + 1),
    );
    l + r
}

fn curve(x: f64) -> f64 {
    (x * x + 1.0) * x
}

fn term(i: u64) -> u64 {
    let z = (i ^ (i >> 7)).wrapping_mul(0x9E3779B97F4A7C15);
    z ^ (z >> 29)
}

fn numbers(n: usize) -> Vec<i64> {
    let mut x: u64 = 88172645463325252;
    let next = |_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 1) as i64
    };
    (0..n).map(next).collect()
}

fn matrix(n: usize, a: usize, b: usize, modulus: usize) -> Vec<f64> {
    (0..n * n)
        .map(|i| ((a * (i / n) + b * (i % n)) % modulus) as f64)
        .collect()
}

fn multiply_row(a: &[f64], b: &[f64], row: &mut [f64], n: usize, i: usize) {
    for k in 0..n {
        let x = a[i * n + k];
        for (c, y) in row.iter_mut().zip(&b[k * n..(k + 1) * n]) {
            *c += x * y;
        }
    }
}

fn hash_matrix(c: &[f64], n: usize) -> i64 {
    let weigh = |(i, x): (usize, &f64)| x * ((i / n + i % n) % 3 + 1) as f64;
    c.iter().enumerate().map(weigh).sum::<f64>() as i64
}

fn hash_numbers(v: &[i64]) -> u64 {
    v.iter()
        .fold(0, |h: u64, &x| h.wrapping_mul(31).wrapping_add(x as u64))
}

/// 2.550000e+03, as C prints it.
fn scientific(x: f64) -> String {
    let text = format!("{x:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    format!(
        "{digits}e{}{:02}",
        if exponent < 0 { '-' } else { '+' },
        exponent.abs()
    )
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Solves a problem once: the result in words, and how long it took.
fn solve(kernel: &str, n: usize) -> Option<(String, Duration)> {
    let x = n as f64;
    Some(match kernel {
        "fib" => {
            let (r, took) = timed(|| fib(n as i64));
            (r.to_string(), took)
        }
        "nqueens" => {
            let (r, took) = timed(|| queens((1 << n) - 1, 0, 0, 0, 0));
            (r.to_string(), took)
        }
        "integrate" => {
            let (r, took) =
                timed(|| integrate((0.0, curve(0.0)), (x, curve(x)), curve(x) / 2.0 * x, 0));
            (scientific(r), took)
        }
        "sum" => {
            let (r, took) = timed(|| {
                (0..n as u64)
                    .into_par_iter()
                    .map(term)
                    .reduce(|| 0, u64::wrapping_add)
            });
            (r.to_string(), took)
        }
        "sort" => {
            let mut v = numbers(n);
            let (_, took) = timed(|| v.par_sort_unstable());
            (format!("{:x}", hash_numbers(&v)), took)
        }
        "matmul" => {
            let (a, b, mut c) = (matrix(n, 1, 2, 7), matrix(n, 3, 1, 5), vec![0.0; n * n]);
            let (_, took) = timed(|| {
                c.par_chunks_mut(n)
                    .enumerate()
                    .for_each(|(i, row)| multiply_row(&a, &b, row, n, i))
            });
            (hash_matrix(&c, n).to_string(), took)
        }
        _ => return None,
    })
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<usize>().ok());
    let (Some(kernel), Some(n), Some(workers)) = (args.get(1), number(2), number(3)) else {
        eprintln!("usage: forkjoin KERNEL SIZE WORKERS [ROUNDS]");
        return ExitCode::from(2);
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("no thread pool");
    for _ in 0..number(4).unwrap_or(1) {
        let Some((result, took)) = pool.install(|| solve(kernel, n)) else {
            eprintln!("forkjoin: no kernel {kernel}");
            return ExitCode::from(2);
        };
        println!("{result} {:.9}", took.as_secs_f64());
    }
    ExitCode::SUCCESS
}

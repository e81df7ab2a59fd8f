//! Fork-join problems on chili: only join, with a heartbeat. A call of join costs a nanosecond;
//! every 100 microseconds each worker gives its oldest one to an idle worker. Loops are halved by
//! hand.
use std::env;
use std::num::NonZero;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chili::{Config, Scope, ThreadPool};

fn fib(s: &mut Scope, n: i64) -> i64 {
    if n < 2 {
        return n;
    }
    let (a, b) = s.join(|s| fib(s, n - 1), |s| fib(s, n - 2));
    a + b
}

/// Below this row a task would cost more than its work.
const TASK_ROWS: u32 = 4;

/// The columns and diagonals that earlier queens attack are bits of a row.
fn queens(s: &mut Scope, all: u32, columns: u32, left: u32, right: u32, row: u32) -> i64 {
    if columns == all {
        return 1;
    }
    places(
        s,
        all & !(columns | left | right),
        &(all, columns, left, right, row),
    )
}

/// Tries the free places one after the other, or each beside the rest.
fn places(s: &mut Scope, mut free: u32, board: &(u32, u32, u32, u32, u32)) -> i64 {
    let &(all, columns, left, right, row) = board;
    let place = |s: &mut Scope, p: u32| {
        queens(
            s,
            all,
            columns | p,
            (left | p) << 1,
            (right | p) >> 1,
            row + 1,
        )
    };
    if row < TASK_ROWS && free & free.wrapping_sub(1) != 0 {
        let first = free & free.wrapping_neg();
        let (a, b) = s.join(|s| place(s, first), |s| places(s, free ^ first, board));
        return a + b;
    }
    let mut solutions = 0;
    while free != 0 {
        solutions += place(s, free & free.wrapping_neg());
        free &= free - 1;
    }
    solutions
}

type Point = (f64, f64);

const TASK_DEPTH: u32 = 12;

fn integrate(s: &mut Scope, from: Point, to: Point, whole: f64, depth: u32) -> f64 {
    let half = (to.0 - from.0) / 2.0;
    let middle = (from.0 + half, curve(from.0 + half));
    let left = (from.1 + middle.1) / 2.0 * half;
    let right = (middle.1 + to.1) / 2.0 * half;
    if (left + right - whole).abs() < 1e-9 {
        return left + right;
    }
    if depth >= TASK_DEPTH {
        return integrate(s, from, middle, left, depth + 1)
            + integrate(s, middle, to, right, depth + 1);
    }
    let (l, r) = s.join(
        |s| integrate(s, from, middle, left, depth + 1),
        |s| integrate(s, middle, to, right, depth + 1),
    );
    l + r
}

/// The part of a loop that is not halved any more.
const GRAIN: usize = 1 << 14;

fn sum(s: &mut Scope, low: usize, high: usize) -> u64 {
    if high - low <= GRAIN {
        return (low as u64..high as u64).fold(0, |r: u64, i| r.wrapping_add(term(i)));
    }
    let half = low + (high - low) / 2;
    let (a, b) = s.join(|s| sum(s, low, half), |s| sum(s, half, high));
    a.wrapping_add(b)
}

/// Merge sort above what the library sorts alone; buffer is as long as v.
fn sort(s: &mut Scope, v: &mut [i64], buffer: &mut [i64]) {
    if v.len() <= GRAIN {
        return v.sort_unstable();
    }
    let half = v.len() / 2;
    let (low, high) = v.split_at_mut(half);
    let (low_buffer, high_buffer) = buffer.split_at_mut(half);
    s.join(|s| sort(s, low, low_buffer), |s| sort(s, high, high_buffer));
    buffer.copy_from_slice(v);
    let (low, high) = buffer.split_at(half);
    merge(s, low, high, v);
}

/// Joins two sorted parts, in halves that do not touch.
fn merge(s: &mut Scope, a: &[i64], b: &[i64], out: &mut [i64]) {
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if out.len() > GRAIN {
        let i = a.len() / 2;
        let j = b.partition_point(|x| *x < a[i]);
        let (low, high) = out.split_at_mut(i + j);
        s.join(
            |s| merge(s, &a[..i], &b[..j], low),
            |s| merge(s, &a[i..], &b[j..], high),
        );
        return;
    }
    // Which one is smaller cannot be guessed: no branch depends on it.
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let second = b[j] < a[i];
        out[i + j] = if second { b[j] } else { a[i] };
        i += !second as usize;
        j += second as usize;
    }
    let (rest, k) = if i < a.len() {
        (&a[i..], i + j)
    } else {
        (&b[j..], i + j)
    };
    out[k..].copy_from_slice(rest);
}

fn multiply(s: &mut Scope, a: &[f64], b: &[f64], c: &mut [f64], n: usize, first: usize) {
    let rows = c.len() / n;
    if rows <= 1 {
        return multiply_row(a, b, c, n, first);
    }
    let (upper, lower) = c.split_at_mut(rows / 2 * n);
    s.join(
        |s| multiply(s, a, b, upper, n, first),
        |s| multiply(s, a, b, lower, n, first + rows / 2),
    );
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
fn solve(s: &mut Scope, kernel: &str, n: usize) -> Option<(String, Duration)> {
    let x = n as f64;
    Some(match kernel {
        "fib" => {
            let (r, took) = timed(|| fib(s, n as i64));
            (r.to_string(), took)
        }
        "nqueens" => {
            let (r, took) = timed(|| queens(s, (1 << n) - 1, 0, 0, 0, 0));
            (r.to_string(), took)
        }
        "integrate" => {
            let (r, took) =
                timed(|| integrate(s, (0.0, curve(0.0)), (x, curve(x)), curve(x) / 2.0 * x, 0));
            (scientific(r), took)
        }
        "sum" => {
            let (r, took) = timed(|| sum(s, 0, n));
            (r.to_string(), took)
        }
        "sort" => {
            let (mut v, mut buffer) = (numbers(n), vec![0; n]);
            let (_, took) = timed(|| sort(s, &mut v, &mut buffer));
            (format!("{:x}", hash_numbers(&v)), took)
        }
        "matmul" => {
            let (a, b, mut c) = (matrix(n, 1, 2, 7), matrix(n, 3, 1, 5), vec![0.0; n * n]);
            let (_, took) = timed(|| multiply(s, &a, &b, &mut c, n, 0));
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
    let mut config = Config::default();
    config.thread_count = NonZero::new(workers);
    let pool = ThreadPool::with_config(config);
    let mut scope = pool.scope();
    for _ in 0..number(4).unwrap_or(1) {
        let Some((result, took)) = solve(&mut scope, kernel, n) else {
            eprintln!("forkjoin: no kernel {kernel}");
            return ExitCode::from(2);
        };
        println!("{result} {:.9}", took.as_secs_f64());
    }
    ExitCode::SUCCESS
}

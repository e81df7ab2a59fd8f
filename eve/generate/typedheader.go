package generate

// typedHeader has the declarations that all typed programs use. Its functions avoid the failures
// of the operations that they wrap.
const typedHeader = `import util.json

type box<T>:
    item: T
    count: int
    put: [+self] (self, =x: T) T:
        old: T = self.item.copy()
        self.item = x
        self.count = self.count +% 1
        return old

union tree<T>:
    leaf
    one(value: T)
    two(left: T, right: T)

# x in JSON, and what is read from that. An infinity is null there, which is no number.
there_and_back: <type T> (x: T) string:
    text: string = json.encode(x)
    match json.decode<T>(text):
        ok(y): return f"{text} {y}"
        error(e): return f"{text} {e}"

mark: <type T> [+stdout] (n: int, =x: T) T:
    stdout.write("<%d>", n)
    return x

bump: (n: int&, by: int) int:
    n = n +% by
    return n

within: (i: int, n: int) int:
    if n == 0: return 0
    return ((i % n) + n) % n

cut: (s: string, a: int, b: int) string:
    i: int = within(a, s.size() + 1)
    j: int = within(b, s.size() + 1)
    return s[min(i, j)..max(i, j)]

piece: <type T> (v: slice<T>&, a: int, b: int) slice<T>&:
    i: int = within(a, v.size() + 1)
    j: int = within(b, v.size() + 1)
    return v[min(i, j)..max(i, j)]

count: <type T> (v: slice<T>&, keep: <(T) bool>) int:
    n: int = 0
    for (x: T in v):
        if keep(x): n += 1
    return n

applied: <type A, type B> (x: A, f: <(A) B>) B: return f(x)

mapped: <type A, type B> (v: vector<A>, f: <(A) B>) vector<B>:
    out: vector<B>
    for (x: A in v): out.push(f(x))
    return out

swapped: <type A, type B> (=a: A, =b: B) (B, A): return (b, a)

grown: <type T> (root: tree<T>, =x: T) tree<T>:
    match root:
        leaf: return tree<T>.one(x)
        one(v): return tree<T>.two(v.copy(), x)
        two(l, _): return tree<T>.one(l.copy())

weight: <type T> (root: tree<T>) int:
    match root:
        leaf: return 0
        one(v): return f"{v}".size()
        two(l, r): return f"{l}{r}".size()

wave: (n: int, by: int) int:
    if n <= 0: return by
    return wave(n - 1, by *% 3) +% wave(n - 2, by +% n)

clipped: (x: float) int:
    if x > -1000000.0 && x < 1000000.0: return int(x)
    return 7

tried: (n: int) int!:
    if n % 3 == 0: return error(within(n, 100), f"{n} is a third")
    return n

found: (n: int) int?:
    if n % 4 == 0: return none
    return n

`

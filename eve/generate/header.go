package generate

// header has the declarations that all programs use.
const header = `type pair:
    left: int = 1
    right: int = 2
    swap: [+self] (self) void:
        old: int = self.left
        self.left = self.right
        self.right = old
    sum: (self) int: return self.left +% self.right

union shape:
    empty
    circle(radius: int)
    box(wide: int, high: int)

type source: emitter<item, error>
    count: int = 0
    send: [+self] (self, n: int) void:
        self.count += n
        emit item(n)
type item:
    n: int

type cluster:
    name: string
    parts: vector<int@>
    first: int@

order: vector<int>@

total: (v: vector<int>) int:
    s: int = 0
    for (x: int in v): s = s +% x
    return s

all: (v: vector<vector<int>>) int:
    s: int = 0
    for (row: vector<int> in v):
        for (x: int in row): s = s +% x
    return s

has: (s: set<int>, x: int) int:
    if s.has(x): return 1
    return 0

doubled: (x: int?) int?: return x? *% 2

checked: (x: int) int!:
    if x % 3 == 0: return error(x, "a third")
    return x

area: (s: shape) int:
    match s:
        empty: return 0
        circle(r): return r *% r
        box(w, h): return w *% h

larger: <type T: ordered> (a: T, b: T) T:
    if a < b: return b
    return a

length: <type T> (v: vector<T>) int: return f"{v}".size()

applied: (x: int, f: <(int) int>) int: return f(f(x))

guarded: (v: vector<int>&, n: int) void:
    defer: v.push(n)
    if v.size() % 2 == 0: return
    defer: v.push(n +% 1)
    v[0] = n

bump: [+x] (x: int@, by: int) void: x = x +% by

both: [+x, y] (x: int@, y: vector<int>@, n: int) void:
    finish:
        @ [+x, y, =n]: x = x +% total(y) +% n
        @ [y]: y.size()

trio: [+x, +y, z] (x: int@, y: int@, z: int@, n: int) void:
    finish:
        @ [+x, z, =n]: x = x +% z +% n
        @ [+y, x]: y = y *% 3 +% x
        @ [z]: size_of(z)
        for (i in 0..3):
            @ [+y, +x, =i]:
                finish:
                    @ [+x, y, =i]: x = x +% y *% i
                    @ [+y]: y = y ^ 5

item_limit: (n: int) int: return n

size_of: (n: int) int: return n

halves: (v: slice<int>&, by: int) void:
    if v.size() < 2:
        for (x: int& in v): x = x *% 3 +% by
        return
    low, high: slice<int>& = v.split(v.size() / 2)
    finish:
        @ [&low, =by]: halves(low, by)
        @ [&high, =by]: halves(high, by + 1)

`

package interp_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"testing"
)

// util.hash computes what Go's packages compute, of whole data and of parts.
func FuzzHash(f *testing.F) {
	for _, n := range []int{0, 1, 3, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 200} {
		f.Add(strings.Repeat("a", n/2), strings.Repeat("\xc8", n-n/2))
	}
	p := newTool(f, "hash", `
    all: bytes = args[0] + args[1]
    small: hash.sha256_state
    small.add(args[0])
    small.add(args[1])
    large: hash.sha512_state
    large.add(args[0])
    large.add(args[1])
    assert small.sum() == hash.sha256(all) && large.sum() == hash.sha512(all)
    middle: hash.sha256_state = hash.sha224_start()
    middle.add(args[0])
    middle.add(args[1])
    assert middle.sum() == hash.sha224(all)
    codes: string = f"{hash.hmac_sha256(args[0], args[1]):x} {hash.hmac_sha512(args[0], args[1]):x}"
    sums: string = f"{hash.crc32(args[1], before = hash.crc32(args[0])):08x} {hash.fnv1a(all):016x}"
    others: string = f"{hash.sha224(all):x} {hash.sha384(all):x} {hash.sha512_256(all):x}"
    short: string = f"{hash.hmac_sha224(args[0], args[1]):x} {hash.hmac_sha384(args[0], args[1]):x}"
    last: string = f"{hash.hmac_sha512_256(args[0], args[1]):x}"
    first: string = f"{hash.sha1(all):x} {small.sum():x} {large.sum():x} {codes} {sums}"
    say(f"{first} {others} {short} {last}")
`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 600 {
			return
		}
		all := []byte(a + b)
		code := func(h func() hash.Hash) []byte {
			c := hmac.New(h, []byte(a))
			c.Write([]byte(b))
			return c.Sum(nil)
		}
		sum := fnv.New64a()
		sum.Write(all)
		want := fmt.Sprintf("%x %x %x %x %x %08x %016x %x %x %x %x %x %x", sha1.Sum(all),
			sha256.Sum256(all), sha512.Sum512(all), code(sha256.New), code(sha512.New),
			crc32.ChecksumIEEE(all), sum.Sum64(), sha256.Sum224(all), sha512.Sum384(all),
			sha512.Sum512_256(all), code(sha256.New224), code(sha512.New384),
			code(sha512.New512_256))
		if got, wrong := p.call(t, a, b); got != want {
			t.Errorf("%q %q: got %q %s, want %q", a, b, got, wrong, want)
		}
	})
}

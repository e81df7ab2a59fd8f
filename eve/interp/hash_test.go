package interp_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
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
    codes: string = f"{hash.hmac_sha256(args[0], args[1]):x} {hash.hmac_sha512(args[0], args[1]):x}"
    sums: string = f"{hash.crc32(args[1], before = hash.crc32(args[0])):08x} {hash.fnv1a(all):016x}"
    say(f"{hash.sha1(all):x} {small.sum():x} {large.sum():x} {codes} {sums}")
`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 600 {
			return
		}
		all := []byte(a + b)
		code256, code512 := hmac.New(sha256.New, []byte(a)), hmac.New(sha512.New, []byte(a))
		code256.Write([]byte(b))
		code512.Write([]byte(b))
		sum := fnv.New64a()
		sum.Write(all)
		want := fmt.Sprintf("%x %x %x %x %x %08x %016x", sha1.Sum(all), sha256.Sum256(all),
			sha512.Sum512(all), code256.Sum(nil), code512.Sum(nil), crc32.ChecksumIEEE(all),
			sum.Sum64())
		if got, wrong := p.call(t, a, b); got != want {
			t.Errorf("%q %q: got %q %s, want %q", a, b, got, wrong, want)
		}
	})
}

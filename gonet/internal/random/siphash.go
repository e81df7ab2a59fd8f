package random

import (
	"encoding/binary"
	"math/bits"
)

// sipKey is a key of SipHash-2-4, a hash for short inputs that is unpredictable without the key
// (Aumasson and Bernstein, 2012). Linux makes its initial sequence numbers with it too. SHA-256
// took 4 % of the time of a short connection.
type sipKey [2]uint64

func makeSIPKey(secret [16]byte) sipKey {
	return sipKey{binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])}
}

// sum returns the hash of words, each taken as eight bytes in little endian.
func (k sipKey) sum(words ...uint64) uint64 {
	v := sipState{k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d, k[0] ^ 0x6c7967656e657261,
		k[1] ^ 0x7465646279746573}
	for _, w := range words {
		v.addWord(w)
	}
	v.addWord(uint64(len(words)) * 8 << 56) // the length in bytes ends the input
	v[2] ^= 0xff
	for range 4 {
		v.round()
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

type sipState [4]uint64

func (v *sipState) addWord(w uint64) {
	v[3] ^= w
	v.round()
	v.round()
	v[0] ^= w
}

func (v *sipState) round() {
	v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v1
	v0 += v3
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 = bits.RotateLeft64(v2, 32)
	v[0], v[1], v[2], v[3] = v0, v1, v2, v3
}

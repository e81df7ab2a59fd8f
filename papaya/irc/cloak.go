package irc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"net/netip"
)

// cloakEnd ends each cloak. No name of a host ends so (RFC 2606).
const cloakEnd = "cloak.invalid"

// The networks that the labels of a cloak stand for, by the lengths of their prefixes in bits. A
// customer of a provider mostly has one address of IPv4, or 64 bits of IPv6.
var (
	cloaked4 = [...]int{32, 24, 16}
	cloaked6 = [...]int{64, 48, 32}
)

// labelLen is in characters of five bits. Two of the 256 addresses of a network have the same
// cloak with a probability of 3e-8.
const labelLen = 8

var cloakText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Cloak returns the host that others see of a client at an address. It is the same for the same
// key and address, and tells nobody the address who has not the key. Its labels stand for smaller
// and larger networks, so *.LABEL.LABEL.cloak.invalid is a mask for all of a network.
func Cloak(key []byte, address netip.Addr) string {
	if !address.IsValid() {
		return cloakEnd
	}
	address = address.Unmap().WithZone("")
	lengths := cloaked6
	if address.Is4() {
		lengths = cloaked4
	}
	host := ""
	for _, bits := range lengths {
		network, _ := address.Prefix(bits) // there are as many bits
		sum := hmac.New(sha256.New, key)
		_, _ = sum.Write([]byte(network.String())) // never fails
		host += cloakText.EncodeToString(sum.Sum(nil))[:labelLen] + "."
	}
	return host + cloakEnd
}

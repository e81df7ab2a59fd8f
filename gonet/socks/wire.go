// Package socks speaks SOCKS5 (RFC 1928), with user names and passwords (RFC 1929): the wire
// format, a client with CONNECT and UDP ASSOCIATE, and a server.
package socks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// The versions of the protocol (RFC 1928) and of the negotiation of a password (RFC 1929).
const (
	version         = 5
	passwordVersion = 1
)

// Method is a method of authentication (RFC 1928 section 3).
type Method uint8

// The methods that are spoken here, and the answer of a server that takes none of the client's.
const (
	MethodNone     Method = 0
	MethodPassword Method = 2
	MethodRefused  Method = 0xff
)

// Command is what a request asks for (RFC 1928 section 4).
type Command uint8

// The commands.
const (
	Connect   Command = 1
	Bind      Command = 2
	Associate Command = 3
)

// Code is the outcome of a request (RFC 1928 section 6). It is an error, but for Succeeded. Errors
// of the functions here wrap the code with which a server answers them, if there is one.
type Code uint8

// The codes. HostUnreachable also answers a name that does not resolve, TTLExpired a time-out.
const (
	Succeeded           Code = 0
	GeneralFailure      Code = 1
	NotAllowed          Code = 2
	NetworkUnreachable  Code = 3
	HostUnreachable     Code = 4
	Refused             Code = 5
	TTLExpired          Code = 6
	CommandNotSupported Code = 7
	AddressNotSupported Code = 8
)

var codeTexts = [...]string{
	"succeeded", "general failure", "not allowed by the rules", "network unreachable",
	"host unreachable", "connection refused", "TTL expired", "command not supported",
	"address type not supported",
}

// Error implements error with the text of RFC 1928.
func (c Code) Error() string {
	if int(c) < len(codeTexts) {
		return codeTexts[c]
	}
	return "reply code " + strconv.Itoa(int(c))
}

// Address is a destination: an address or a name, and a port.
type Address struct {
	IP   netip.Addr // without a zone; invalid if Name is set
	Name string     // at most 255 bytes
	Port uint16
}

// AddressOf returns the address of an endpoint. IPv4-mapped addresses become IPv4.
func AddressOf(a netip.AddrPort) Address {
	return Address{IP: a.Addr().Unmap().WithZone(""), Port: a.Port()}
}

// String returns the form of package net, "host:port".
func (a Address) String() string {
	host := a.Name
	if a.IP.IsValid() {
		host = a.IP.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(a.Port)))
}

// AddrPort returns the endpoint; its address is invalid if a has a name.
func (a Address) AddrPort() netip.AddrPort { return netip.AddrPortFrom(a.IP, a.Port) }

// The types of addresses (RFC 1928 section 5).
const (
	kindIPv4 = 1
	kindName = 3
	kindIPv6 = 4
)

// maxAddress is the length in bytes of the longest address: its type, a name with its length, and a
// port.
const maxAddress = 1 + 1 + 255 + 2

// errName is the error for a name that no host can have. A server that passed one on could be made
// to write anything into the requests or logs of others.
var errName = fmt.Errorf("socks: an invalid name: %w", GeneralFailure)

// isName tells whether a name is not empty, of printable ASCII without spaces, and not too long.
func isName[T string | []byte](name T) bool {
	if len(name) == 0 || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return false
		}
	}
	return true
}

// appendTo appends an address. One without IP and Name is written as 0.0.0.0.
func (a Address) appendTo(b []byte) ([]byte, error) {
	switch {
	case a.IP.Is6() && !a.IP.Is4In6():
		ip := a.IP.As16()
		b = append(append(b, kindIPv6), ip[:]...)
	case a.IP.IsValid():
		ip := a.IP.Unmap().As4()
		b = append(append(b, kindIPv4), ip[:]...)
	case a.Name == "":
		b = append(b, kindIPv4, 0, 0, 0, 0)
	case !isName(a.Name):
		return b, errName
	default:
		b = append(append(b, kindName, byte(len(a.Name))), a.Name...)
	}
	return binary.BigEndian.AppendUint16(b, a.Port), nil
}

// addressLen returns the length of an address in bytes, from its type and the byte that follows.
func addressLen(kind, next byte) (int, error) {
	switch kind {
	case kindIPv4:
		return 1 + 4 + 2, nil
	case kindIPv6:
		return 1 + 16 + 2, nil
	case kindName:
		return 1 + 1 + int(next) + 2, nil
	}
	return 0, fmt.Errorf("socks: an address of type %d: %w", kind, AddressNotSupported)
}

// parseAddress parses the address at the start of b, and returns what follows it.
func parseAddress(b []byte) (a Address, rest []byte, err error) {
	if len(b) < 2 {
		return a, nil, errShort
	}
	n, err := addressLen(b[0], b[1])
	if err != nil {
		return a, nil, err
	}
	if len(b) < n {
		return a, nil, errShort
	}
	host := b[1 : n-2]
	if b[0] == kindName {
		if !isName(host[1:]) {
			return a, nil, errName
		}
		a.Name = string(host[1:])
	} else {
		a.IP, _ = netip.AddrFromSlice(host) // addressLen gives it 4 or 16 bytes
		a.IP = a.IP.Unmap()
	}
	a.Port = binary.BigEndian.Uint16(b[n-2:])
	return a, b[n:], nil
}

var errShort = errors.New("socks: a message that is cut off")

// readRest fills b with the rest of a message, in which an end of file is unexpected.
func readRest(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readVersion reads the first n bytes of a message, of which the first is a version.
func readVersion(r io.Reader, b []byte, want byte) error {
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if b[0] != want {
		return fmt.Errorf("socks: version %d, not %d: %w", b[0], want, GeneralFailure)
	}
	return nil
}

// AppendGreeting appends the first message of a client: the methods that it offers.
func AppendGreeting(b []byte, methods ...Method) []byte {
	b = append(b, version, byte(len(methods)))
	for _, m := range methods {
		b = append(b, byte(m))
	}
	return b
}

// ReadGreeting reads the first message of a client. Like all functions here that read, it reads no
// byte beyond the message. An end of file before the message is io.EOF.
func ReadGreeting(r io.Reader) ([]Method, error) {
	var b [2 + 255]byte
	if err := readVersion(r, b[:2], version); err != nil {
		return nil, err
	}
	offered := b[2 : 2+int(b[1])]
	if err := readRest(r, offered); err != nil {
		return nil, err
	}
	methods := make([]Method, len(offered))
	for i, m := range offered {
		methods[i] = Method(m)
	}
	return methods, nil
}

// AppendMethod appends the server's answer to a greeting.
func AppendMethod(b []byte, m Method) []byte { return append(b, version, byte(m)) }

// ReadMethod reads the server's answer to a greeting.
func ReadMethod(r io.Reader) (Method, error) {
	var b [2]byte
	err := readVersion(r, b[:], version)
	return Method(b[1]), err
}

// AppendPassword appends the message with a user name and a password (RFC 1929). Each has 1 to 255
// bytes; another length is an error.
func AppendPassword(b []byte, user, password string) ([]byte, error) {
	for _, s := range []string{user, password} {
		if len(s) < 1 || len(s) > 255 {
			return b, errors.New("socks: a user name or password has not 1 to 255 bytes")
		}
	}
	b = append(b, passwordVersion, byte(len(user)))
	b = append(append(b, user...), byte(len(password)))
	return append(b, password...), nil
}

// ReadPassword reads the message with a user name and a password. Either may be empty: clients send
// such, and it is the server that compares them.
func ReadPassword(r io.Reader) (user, password string, err error) {
	var b [255 + 1]byte
	if err := readVersion(r, b[:2], passwordVersion); err != nil {
		return "", "", err
	}
	n := int(b[1])
	if err := readRest(r, b[:n+1]); err != nil {
		return "", "", err
	}
	user = string(b[:n])
	n = int(b[n])
	if err := readRest(r, b[:n]); err != nil {
		return "", "", err
	}
	return user, string(b[:n]), nil
}

// AppendPasswordReply appends the server's verdict on a password.
func AppendPasswordReply(b []byte, ok bool) []byte {
	status := byte(0)
	if !ok {
		status = 1
	}
	return append(b, passwordVersion, status)
}

// ReadPasswordReply reads the server's verdict on a password.
func ReadPasswordReply(r io.Reader) (ok bool, err error) {
	var b [2]byte
	err = readVersion(r, b[:], passwordVersion)
	return b[1] == 0, err
}

// Request is what a client asks for once it is authenticated.
type Request struct {
	Command Command
	Address Address
}

// Append appends the request. A name that no host can have is an error.
func (q Request) Append(b []byte) ([]byte, error) {
	return q.Address.appendTo(append(b, version, byte(q.Command), 0))
}

// ReadRequest reads a request. The command may be unknown.
func ReadRequest(r io.Reader) (Request, error) {
	what, a, err := readMessage(r)
	return Request{Command(what), a}, err
}

// Reply is a server's answer to a request. The address is that from which a connection was made, or
// to which datagrams are to be sent.
type Reply struct {
	Code    Code
	Address Address
}

// Append appends the reply. A name that no host can have is an error.
func (p Reply) Append(b []byte) ([]byte, error) {
	return p.Address.appendTo(append(b, version, byte(p.Code), 0))
}

// ReadReply reads a reply. A code other than Succeeded is no error of this function.
func ReadReply(r io.Reader) (Reply, error) {
	what, a, err := readMessage(r)
	return Reply{Code(what), a}, err
}

// readMessage reads a request or a reply, which have the same form. The reserved byte is ignored.
func readMessage(r io.Reader) (what byte, a Address, err error) {
	var b [3 + maxAddress]byte
	const first = 5 // the address's type, and the byte that tells the length of a name
	if err := readVersion(r, b[:first], version); err != nil {
		return 0, a, err
	}
	n, err := addressLen(b[3], b[4])
	if err != nil {
		return b[1], a, err
	}
	if err := readRest(r, b[first:3+n]); err != nil {
		return b[1], a, err
	}
	a, _, err = parseAddress(b[3 : 3+n])
	return b[1], a, err
}

// MaxDatagramHeader is the largest length of what precedes the data in a datagram, in bytes.
const MaxDatagramHeader = 3 + maxAddress

// AppendDatagram appends the header of a datagram to or from a (RFC 1928 section 7); its data
// follows. A name that no host can have is an error.
func AppendDatagram(b []byte, a Address) ([]byte, error) {
	return a.appendTo(append(b, 0, 0, 0))
}

// ParseDatagram parses a datagram. The data is a view of b. A fragment is an error: an
// implementation that does not put them together drops them (RFC 1928 section 7).
func ParseDatagram(b []byte) (a Address, data []byte, err error) {
	if len(b) < 3 {
		return a, nil, errShort
	}
	if b[2] != 0 {
		return a, nil, errors.New("socks: a fragment of a datagram")
	}
	return parseAddress(b[3:])
}

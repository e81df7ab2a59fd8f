package link_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"

	"interleave/gonet/link"
)

// A frame of Ethernet to all stations: two addresses, a type for experiments, and a payload.
var frame = []byte("\xff\xff\xff\xff\xff\xff" + "\x02\x00\x00\x00\x00\x01" + "\x88\xb5" + "hello")

// One end reads the frames that the other writes. A frame may be given in pieces.
func ExamplePair() {
	near, far := link.Pair(link.MTU(9000))
	if err := near.Write(link.GSO{}, frame[:14], frame[14:]); err != nil {
		log.Fatal(err)
	}
	batch := make([]link.Frame, 8)
	n, err := far.Read(batch)
	fmt.Println(n, err)
	fmt.Printf("%s\n", batch[0].Data[14:])
	// Output:
	// 1 <nil>
	// hello
}

// A wire without Ethernet carries IP packets as they are, as a tunnel does. Stacks on it have no
// MAC and ask for no stations.
func ExampleL3() {
	near, far := link.Pair(link.L3(), link.MTU(1420))
	packet := make([]byte, 20)
	packet[0] = 4<<4 | 5 // version 4, and a header of five words
	if err := near.Write(link.GSO{}, packet); err != nil {
		log.Fatal(err)
	}
	batch := make([]link.Frame, 8)
	n, err := far.Read(batch)
	fmt.Println(n, err)
	fmt.Println("version", batch[0].Data[0]>>4)
	// Output:
	// 1 <nil>
	// version 4
}

// A link over two functions: here they hand over packets by channels, as a tunnel may. Its features
// say what the functions carry.
func ExampleNewFuncs() {
	received, sent := make(chan []byte, 1), make(chan []byte, 1)
	l := link.NewFuncs(link.Features{MTU: 1420, L3: true},
		func(b []byte) (int, link.GSO, error) { // blocks until there is a packet
			p, open := <-received
			if !open {
				return 0, link.GSO{}, io.EOF
			}
			return copy(b, p), link.GSO{}, nil
		},
		func(_ link.GSO, packet []byte) error {
			sent <- append([]byte{}, packet...)
			return nil
		},
		func() error { close(received); return nil })
	defer l.Close()
	if err := l.Write(link.GSO{}, []byte("a pac"), []byte("ket")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", <-sent)
	received <- []byte("another")
	batch := make([]link.Frame, 8)
	n, err := l.Read(batch)
	fmt.Printf("%d %v: %s\n", n, err, batch[0].Data)
	// Output:
	// a packet
	// 1 <nil>: another
}

// A stream of frames with their lengths, as QEMU's -netdev stream sends them. Here its other end is
// a pipe.
func ExampleNewStream() {
	near, qemu := net.Pipe()
	l := link.NewStream(near, link.Features{MTU: 1500})
	defer l.Close()
	if err := l.Write(link.GSO{}, frame); err != nil {
		log.Fatal(err)
	}
	b := make([]byte, 4+len(frame))
	if _, err := io.ReadFull(qemu, b); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("% x, and a frame of %d bytes\n", b[:4], len(b)-4)
	// Output: 00 00 00 13, and a frame of 19 bytes
}

// The framing of QEMU's -netdev dgram: a datagram for each frame. Here a socket stands for QEMU,
// whose command line would be
//
//	-netdev dgram,id=n,local.type=inet,local.host=127.0.0.1,local.port=QEMU,remote.type=inet,remote.host=127.0.0.1,remote.port=OURS
func ExampleNewDatagrams() {
	ours, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	qemu, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer qemu.Close()
	l := link.NewDatagrams(ours, qemu.LocalAddr(), link.Features{MTU: 1500})
	defer l.Close()
	if _, err := qemu.WriteTo(frame, ours.LocalAddr()); err != nil {
		log.Fatal(err)
	}
	batch := make([]link.Frame, 8)
	n, err := l.Read(batch)
	fmt.Printf("%d %v: %s\n", n, err, batch[0].Data[14:])
	// Output: 1 <nil>: hello
}

// A wire that loses half of what is sent. The same seed loses the same frames.
func ExampleNewFaults() {
	near, far := link.Pair()
	bad := link.NewFaults(near, 3, link.Fault{}, link.Fault{Loss: 0.5})
	defer bad.Close()
	for range 10 {
		if err := bad.Write(link.GSO{}, frame); err != nil {
			log.Fatal(err)
		}
	}
	n, err := far.Read(make([]link.Frame, 10))
	fmt.Printf("%d of 10 frames, %v\n", n, err)
	// Output: 5 of 10 frames, <nil>
}

// A file for Wireshark with all frames that pass. Here it is in memory.
func ExampleNewCapture() {
	var file bytes.Buffer
	near, _ := link.Pair()
	c, err := link.NewCapture(near, "wire", &file)
	if err != nil {
		log.Fatal(err)
	}
	empty := file.Len()
	if err := c.Write(link.GSO{}, frame); err != nil {
		log.Fatal(err)
	}
	_ = c.Close()
	fmt.Printf("%x begins a file of pcapng\n", file.Bytes()[:4])
	fmt.Println("the frame is in it:", bytes.Contains(file.Bytes()[empty:], frame))
	fmt.Println("an error of the file:", c.Err())
	// Output:
	// 0a0d0d0a begins a file of pcapng
	// the frame is in it: true
	// an error of the file: <nil>
}

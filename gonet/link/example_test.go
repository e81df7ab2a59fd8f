package link_test

import (
	"bytes"
	"fmt"
	"log"

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

// Stream, lean: a goroutine reads a client's head, as net/http would, but a client that only
// listens has none. Its descriptor is taken from the runtime's poller and put into a timer wheel of
// milliseconds, where one goroutine visits it once in each turn of a second. That is 60 bytes a
// client in place of kilobytes, at the price of a piece of the event loop that goroutines were to
// hide.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	turnMS = 1000                   // of the wheel: the time between two chunks
	late   = 4 << 10                // in bytes, a guess: sent together after a standstill
	rest   = 100 * time.Millisecond // a guess: how soon a descriptor comes free
)

// A stream is a client that listens.
type stream struct {
	id    string
	since int64 // ms on our clock: the greeting's moment
	n     uint32
	fd    int32
	coded bool // in chunks: not for HTTP/1.0
}

var start = time.Now()

func clock() int64 { return time.Since(start).Milliseconds() }

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: stream PORT [HOST]")
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	host := append(os.Args, "127.0.0.1")[2]
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	greeted := make(chan stream)
	go turn(greeted)
	go accept(listener, greeted)
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
}

func accept(listener net.Listener, greeted chan<- stream) {
	for {
		if room() {
			if client, err := listener.Accept(); err == nil {
				go answer(client.(*net.TCPConn), greeted)
				continue
			}
		}
		time.Sleep(rest) // out of descriptors: connected clients are still served, the next waits
	}
}

// room says whether two descriptors are free: one for the next client, one for copying a
// descriptor.
func room() bool {
	first, second := copied(unix.Stderr), copied(unix.Stderr)
	_, _ = unix.Close(first), unix.Close(second)
	return first >= 0 && second >= 0
}

// copied returns a new descriptor of fd's socket, or -1.
func copied(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return n
}

// turn owns the wheel and all streams, until the program ends. It sleeps until a stream is due.
func turn(greeted <-chan stream) {
	var wheel [turnMS][]stream
	timer := time.NewTimer(0)
	at := clock()
	for {
		select {
		case s := <-greeted:
			wheel[s.since%turnMS] = append(wheel[s.since%turnMS], s)
		case <-timer.C:
		}
		now := clock()
		at = max(at, now-turnMS) // of a longer standstill one turn does: each is met in it
		for at < now {
			at++
			wheel[at%turnMS] = meet(wheel[at%turnMS], at)
		}
		for next := at + 1; next <= at+turnMS; next++ {
			if len(wheel[next%turnMS]) > 0 {
				timer.Reset(time.Until(start.Add(time.Duration(next) * time.Millisecond)))
				break
			}
		}
	}
}

// meet sends the due chunks to the streams of one millisecond, and returns the streams that took
// them.
func meet(slot []stream, now int64) []stream {
	var out [late]byte
	stay := slot[:0]
	for _, s := range slot {
		text := out[:0]
		for now >= s.since+turnMS*(int64(s.n)+1) && len(text) < late-256 {
			s.n++
			text = s.chunk(text)
		}
		if len(text) > 0 && !say(int(s.fd), text) {
			unix.Close(int(s.fd))
			continue
		}
		stay = append(stay, s)
	}
	clear(slot[len(stay):])
	if len(stay) == 0 {
		return nil
	}
	return stay
}

// say sends all of it or ends the stream: a client whose kernel takes no more has not read for too
// long, and a client that has gone is noticed here.
func say(fd int, text []byte) bool {
	n, err := unix.SendmsgN(fd, text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return err == nil && n == len(text)
}

func (s *stream) chunk(to []byte) []byte {
	var line [128]byte
	text := append(line[:0], "Chunk "...)
	text = strconv.AppendUint(text, uint64(s.n), 10)
	text = append(text, " for id "...)
	text = append(text, s.id...)
	return s.code(to, append(text, '\n'))
}

// code appends a text as it is sent: as a chunk of the coding, or plain.
func (s *stream) code(to, text []byte) []byte {
	if !s.coded {
		return append(to, text...)
	}
	to = strconv.AppendUint(to, uint64(len(text)), 16)
	to = append(to, "\r\n"...)
	to = append(to, text...)
	return append(to, "\r\n"...)
}

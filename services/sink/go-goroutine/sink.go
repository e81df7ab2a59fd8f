// Sink, a goroutine for each client and a mutex around standard output: each batch of whole lines
// is one write under the lock, so lines never mix, and all clients wait for the slowest write.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	maxLine = 4096     // bytes with the LF: PIPE_BUF, as the service says
	chunk   = 16 << 10 // bytes a client can make the server hold
)

var stdout sync.Mutex

// gonet.go replaces these with the functions of a stack in the program.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: sink PORT [HOST]")
	}
	signal.Ignore(syscall.SIGPIPE) // a broken standard output is an error of write
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	host := append(os.Args, "127.0.0.1")[2]
	listener, err := listen("tcp4", net.JoinHostPort(host, os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	go accept(listener)
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
	_ = leave()
}

func accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil { // out of descriptors: connected clients are still served, the next waits
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go serve(client)
	}
}

func serve(client net.Conn) {
	defer client.Close()
	buf := make([]byte, chunk)
	held := 0 // bytes of a line that has not ended
	for held < maxLine {
		n, err := client.Read(buf[held:])
		held += n
		if err == io.EOF && held > 0 {
			buf[held], held = '\n', held+1
		}
		whole := wholeLines(buf[:held])
		write(buf[:whole])
		if err != nil {
			return
		}
		held = copy(buf, buf[whole:held])
	}
}

// wholeLines returns the length of the lines that have ended. Steps of maxLine stop at a line
// that is too long.
func wholeLines(data []byte) (whole int) {
	for {
		i := bytes.LastIndexByte(data[whole:min(whole+maxLine, len(data))], '\n')
		if i < 0 {
			return whole
		}
		whole += i + 1
	}
}

func write(lines []byte) {
	if len(lines) == 0 {
		return
	}
	stdout.Lock()
	defer stdout.Unlock()
	if _, err := os.Stdout.Write(lines); err != nil {
		_ = leave()
		log.Fatal(err)
	}
}

// Command bad is an echo server with one fault, which its first argument names and which a test
// must find. With "good" it has none.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	fault, address := os.Args[1], net.JoinHostPort(os.Args[3], os.Args[2])
	switch fault {
	case "sleeper": // a process that other faults leave behind
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("up")
		time.Sleep(time.Hour)
	case "never-ready":
		fmt.Fprintln(os.Stderr, "not ready yet")
		time.Sleep(time.Hour)
	case "dies-early":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(3)
	case "ready-without-listening":
		fmt.Fprintln(os.Stderr, "ready")
		time.Sleep(time.Hour)
	case "ignores-sigterm":
		signal.Ignore(syscall.SIGTERM)
	case "escapes":
		escape()
	}
	terminate := make(chan os.Signal, 1)
	if fault != "ignores-sigterm" {
		signal.Notify(terminate, syscall.SIGTERM)
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if fault != "silent" {
		fmt.Fprintln(os.Stderr, "ready")
	}
	if fault == "floods" {
		go flood()
	}
	go accept(listener, fault)
	<-terminate
	switch fault {
	case "exit-status":
		os.Exit(7)
	case "signalled":
		signal.Reset(syscall.SIGTERM)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
}

func accept(listener net.Listener, fault string) {
	for {
		client, err := listener.Accept()
		if err != nil { // out of descriptors
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go serve(client.(*net.TCPConn), fault)
	}
}

// served counts connections.
var served atomic.Int64

func serve(client *net.TCPConn, fault string) {
	defer client.Close()
	count := served.Add(1)
	switch fault {
	case "tires": // it answers two clients
		if count > 2 {
			return
		}
		io.Copy(client, client)
	case "clings":
		io.Copy(client, client)
		time.Sleep(time.Hour)
	case "dies-at-once":
		os.Exit(4)
	case "wrong":
		answer := make([]byte, 64)
		for {
			n, err := client.Read(answer)
			if err != nil {
				return
			}
			client.Write(bytes.ToUpper(answer[:n]))
		}
	case "prints":
		fmt.Println("served a client")
		io.Copy(client, client)
	case "closes":
		io.ReadFull(client, make([]byte, 3))
		client.SetLinger(0)
	case "greedy": // reads all of it before it answers: no back-pressure
		all, _ := io.ReadAll(client)
		client.Write(all)
	case "collects":
		collect(client)
	case "spins":
		for {
		}
	default:
		io.Copy(client, client)
	}
}

// collect keeps what it reads until nothing more has come for a second, and then returns the memory
// to the system. That is no fault: collectors of garbage do so.
func collect(client net.Conn) {
	var all bytes.Buffer
	for chunk := make([]byte, 64<<10); ; {
		client.SetReadDeadline(time.Now().Add(time.Second))
		n, err := client.Read(chunk)
		all.Write(chunk[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			all = bytes.Buffer{}
			debug.FreeOSMemory()
		case err != nil:
			return
		}
	}
}

func flood() {
	line := []byte(strings.Repeat("noise ", 100) + "\n")
	for {
		if _, err := os.Stderr.Write(line); err != nil {
			return
		}
	}
}

// escape starts a grandchild that ignores SIGTERM, in a session of its own and without a parent,
// and waits until it runs.
func escape() {
	child := exec.Command("/bin/sh", "-c", `setsid "$0" sleeper 0 0 & `, os.Args[0])
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	up, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err == nil {
		_, err = up.Read(make([]byte, 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	child.Wait()
}

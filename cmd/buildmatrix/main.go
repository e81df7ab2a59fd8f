// Buildmatrix builds a server in C for every system that a compiler here can reach, and plays the
// transcripts of its service against each build that this machine can run, itself or through
// qemu-user. One source tree; what is missing is a row that says what to install.
//
//	go run ./cmd/buildmatrix [--depth=quick] [--server=chat/c-process] [target...]
//
// A row is TARGET, BUILT (yes, no or skip), TRANSCRIPTS PASSED, TRANSCRIPTS PLAYED and a note, with
// tabs between: what the key builds of an experiment asks of its command.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	depth := flag.String("depth", "full",
		"as of an experiment; quick: some of the transcripts, and no emulator, in seconds")
	server := flag.String("server", "chat/c-process", "SERVICE/MODEL, a server in C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := checkout()
	if err == nil {
		m := matrix{root: root, server: *server, quick: *depth == "quick", names: flag.Args()}
		err = m.run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "buildmatrix:", err)
		os.Exit(1)
	}
}

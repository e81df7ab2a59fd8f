package main

import (
	"fmt"
	"os"
	"syscall"
)

// execute replaces this process by the program: its exit status is ours, and Ctrl-C reaches it.
func execute(program string, args []string) error {
	err := syscall.Exec(program, args, os.Environ())
	return fmt.Errorf("running %s: %w", program, err)
}

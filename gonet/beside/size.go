package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// size compares programs that say hello over HTTP, between two hosts on a link in memory. Both have
// net/http, whose size is that of the program "kernel", which has no other stack.
var size = comparison{
	name: "size", peer: "gvisor", once: true,
	title: "a program that serves HTTP over a link in memory, stripped",
	rows: []row{
		{name: "the program, MB"},
		{name: "beyond package net and net/http, MB", most: .5},
		{name: "packages of others that are linked"},
	},
	loads: []load{{"hello", func(_ context.Context, c cell) (figures, error) {
		with, err := sizeOf(filepath.Join(c.folder, "hello-"+c.stack))
		if err != nil {
			return nil, err
		}
		without, err := sizeOf(filepath.Join(c.folder, "hello-kernel"))
		if err != nil {
			return nil, err
		}
		packages, err := os.ReadFile(filepath.Join(c.folder, "packages-"+c.stack))
		linked := bytes.Count(packages, []byte("\n"))
		return figures{"the program, MB": with,
			"beyond package net and net/http, MB": with - without,
			"packages of others that are linked":  float64(linked)}, err
	}}},
}

// sizeOf returns the size of a file in MB.
func sizeOf(file string) (float64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

// build builds all programs that are measured, stripped, into a folder, and lists there which
// packages they have that are neither Go's nor their stack's.
func build(ctx context.Context, folder string) error {
	programs := map[string]string{"gonet": "interleave/gonet/cmd/gonet",
		"tun2socks": "github.com/xjasonlyu/tun2socks/v2"}
	for _, stack := range []string{"gonet", "gvisor", "kernel"} {
		programs["hello-"+stack] = "./hello/" + stack
	}
	for name, of := range programs {
		if _, err := goCommand(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o",
			filepath.Join(folder, name), of); err != nil {
			return err
		}
	}
	for _, stack := range []string{"gonet", "gvisor"} {
		list, err := goCommand(ctx, "list", "-deps", "-f",
			"{{if not .Standard}}{{.ImportPath}}{{end}}", "./hello/"+stack)
		if err != nil {
			return err
		}
		var others strings.Builder
		for line := range strings.Lines(list) {
			if !strings.HasPrefix(line, "interleave/") && !strings.HasPrefix(line, "gvisor.dev/") {
				others.WriteString(line)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "packages-"+stack), []byte(others.String()),
			0o600); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs go in this module alone, and returns its output.
func goCommand(ctx context.Context, words ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", words...)
	c.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	var out, failed bytes.Buffer
	c.Stdout, c.Stderr = &out, &failed
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s(it runs in the folder gonet/beside only)",
			strings.Join(words, " "), err, failed.String())
	}
	return out.String(), nil
}

// Package stream tests every model of the service against its protocol.
package stream

import (
	"bufio"
	"context"
	"os/exec"
	"testing"
	"time"

	"interleave/internal/probe/probetest"
)

func TestStream(t *testing.T) { probetest.Waiting(t, probetest.Hurry) }

// TestStreamOnGoNet plays the transcripts that depend on the stack most; `interleave check stream
// --stack=gonet` plays all.
func TestStreamOnGoNet(t *testing.T) {
	probetest.GoNet(t, []string{"go-goroutine"}, "stream", "terminate")
}

// TestCurl repeats the source's example with a client that is not ours.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("SKIP: install curl for a client that is not ours")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := exec.CommandContext(ctx, curl, "--silent", "--no-buffer", "http://"+
		probetest.Serve(t, "go-goroutine")+"/test/3")
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"Goconntest welcomes you! Your Id: /test/3",
		"Chunk 1 for id /test/3", "Chunk 2 for id /test/3"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("got %q, want %q", lines.Text(), want)
		}
	}
	_ = client.Process.Kill() // a stream has no end
	_ = client.Wait()
}

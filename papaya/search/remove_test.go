package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// holds says whether a file of a folder has a text.
func holds(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(data, []byte(text))
	})
}

// secretPaper returns a text of some chunks with two messages that have a secret: one in the first
// segment that becomes a file, and one in the second.
func secretPaper() (p *paper, secrets []uint64) {
	p = newPaper()
	for _, chunks := range []uint64{7, 25} {
		p.fill(chunks)
		m := Message{At: p.end, Time: 5, Name: "#1", Said: true, Text: "the secret"}
		p.add(m, 500)
		secrets = append(secrets, m.At)
	}
	p.fill(36)
	return p, secrets
}

// TestRemovedWordsLeaveTheFiles: also if the index learns only from the text that a message was
// removed.
func TestRemovedWordsLeaveTheFiles(t *testing.T) {
	for _, told := range []bool{true, false} {
		p, secrets := secretPaper()
		folder := t.TempDir()
		x := opened(t, folder, p)
		if !holds(t, folder, "\nsecret\n") {
			t.Fatal("the secret is in no file")
		}
		p.remove(secrets...)
		if told {
			x.Removed(secrets[0])
			x.Removed(secrets[1])
			x.Removed(secrets[1]) // once more, as after a crash
		} else {
			x.close()
			for _, at := range secrets {
				p.add(Message{At: p.end, Name: "#1", Removes: true, Removed: at}, 100)
			}
			p.fill(38)
			x = New(folder, p, quiet)
			t.Cleanup(x.close)
		}
		settle(t, x)
		check(t, x, p)
		if holds(t, folder, "\nsecret\n") {
			t.Errorf("the secret is still in a file (told: %v)", told)
		}
	}
}

// TestNoFileKnowsMoreThanOlderOnes: the line that says that a message was removed comes into a file
// only when the message has left all others.
func TestNoFileKnowsMoreThanOlderOnes(t *testing.T) {
	p, secrets := secretPaper()
	folder := t.TempDir()
	x := opened(t, folder, p)
	p.remove(secrets...)
	for _, at := range secrets {
		p.add(Message{At: p.end, Name: "#says", Removes: true, Removed: at}, 100)
	}
	p.fill(50)
	for {
		did, err := x.work(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if holds(t, folder, "\n"+Events("#says")+"\n") && holds(t, folder, "\nsecret\n") {
			t.Fatal("a file has the removal, and another the secret")
		}
		if !did {
			break
		}
	}
	if !holds(t, folder, "\n"+Events("#says")+"\n") {
		t.Error("no file has the removal")
	}
}

// TestChange: while lines are removed from the text the index stands still. Afterwards the words
// have left the files, whether that went well or not.
func TestChange(t *testing.T) {
	for _, failure := range []error{nil, errors.New("disk full")} {
		p, secrets := secretPaper()
		folder := t.TempDir()
		x := opened(t, folder, p)
		c := x.Change()
		for _, at := range secrets {
			if err := c.Remove(at); err != nil {
				t.Fatal(err)
			}
		}
		if !holds(t, folder, fileName(0, 16)+"\n"+fileName(16, 16)+"\n") {
			t.Error("the files with the secrets are not named")
		}
		p.remove(secrets...)
		c.Done(failure)
		if holds(t, folder, "\nsecret\n") {
			t.Errorf("the secret is still in a file (%v)", failure)
		}
		if _, err := os.Stat(filepath.Join(folder, staleName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("files are still named: %v", err)
		}
		settle(t, x)
		check(t, x, p)
	}
	var none *Index
	c := none.Change()
	if err := c.Remove(1); err != nil {
		t.Error(err)
	}
	c.Done(nil)
}

// TestMain makes this program also the process that is killed: FOLDER STEP.
func TestMain(m *testing.M) {
	if os.Getenv("PAPAYA_KILL") == "" {
		os.Exit(m.Run())
	}
	p, secrets := secretPaper()
	x := New(os.Args[1], p, quiet)
	x.step = func(step string) {
		if step == os.Args[2] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	for {
		if did, err := x.work(context.Background()); err != nil || !did {
			break
		}
	}
	c := x.Change()
	for _, at := range secrets {
		if err := c.Remove(at); err != nil {
			panic(err)
		}
	}
	p.remove(secrets...)
	c.Done(nil)
}

// TestKilled kills the process at each step. The next start answers as the text, and no file has
// words that are gone from it.
func TestKilled(t *testing.T) {
	for _, step := range []string{"written", "renamed", "removed", "never"} {
		t.Run(step, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "search")
			cmd := exec.Command(os.Args[0], folder, step)
			cmd.Env = append(os.Environ(), "PAPAYA_KILL=1")
			if out, err := cmd.CombinedOutput(); (err == nil) != (step == "never") {
				t.Fatalf("the process: %v\n%s", err, out)
			}
			p, secrets := secretPaper()
			gone := step == "removed" || step == "never"
			if gone {
				p.remove(secrets...)
			}
			x := opened(t, folder, p)
			check(t, x, p)
			if holds(t, folder, "\nsecret\n") == gone {
				t.Errorf("the secret is in a file: %v", !gone)
			}
			if got := len(x.list()); got != 6 { // 36 chunks
				t.Errorf("%d segments", got)
			}
			files, err := os.ReadDir(folder)
			if err != nil || len(files) != 2 {
				t.Errorf("the folder has %v, %v", files, err)
			}
		})
	}
}

// TestDamage: a file with any damage, of another text or of another format, is made again.
func TestDamage(t *testing.T) {
	p := newPaper()
	p.fill(33)
	folder := t.TempDir()
	x := opened(t, folder, p)
	x.close()
	path := x.path(16, 16)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"empty": {}, "cut off": whole[:len(whole)-1],
		"longer": append(slices.Clone(whole), 0), "zeros": make([]byte, len(whole)),
		"text": []byte("what somebody has left here\n")}
	for n := range 20 {
		i := p.random.IntN(len(whole))
		other := slices.Clone(whole)
		other[i] ^= 1 << p.random.IntN(8)
		damaged[fmt.Sprint("bit ", n)] = other
	}
	for name, data := range damaged {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		x := New(folder, p, slog.New(slog.NewTextHandler(&said, nil)))
		settle(t, x)
		check(t, x, p)
		x.close()
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("%s: the file is not made again, %v", name, err)
		}
		if !strings.Contains(said.String(), "made again") {
			t.Errorf("%s: the log has %q", name, said.String())
		}
	}
	other := newPaper()
	other.random.Uint64()
	other.fill(33)
	x = opened(t, folder, other)
	check(t, x, other)
	shorter := newPaper()
	shorter.fill(20)
	x = opened(t, folder, shorter)
	check(t, x, shorter)
}

// TestWhatCannotBeRemoved: a start that cannot remove what is no segment is tried again, and the
// segments that it has opened stay.
func TestWhatCannotBeRemoved(t *testing.T) {
	p := newPaper()
	p.fill(17)
	folder := t.TempDir()
	x := opened(t, folder, p)
	x.close()
	strange := x.path(64, 1)
	if err := os.MkdirAll(filepath.Join(strange, "somebody's"), 0o700); err != nil {
		t.Fatal(err)
	}
	x = New(folder, p, quiet)
	t.Cleanup(x.close)
	for range 2 {
		if _, err := x.work(t.Context()); err == nil {
			t.Fatal("a folder in the place of a segment is no error")
		}
	}
	if _, err := os.Stat(x.path(0, 16)); err != nil {
		t.Errorf("a good segment: %v", err)
	}
	if err := os.RemoveAll(strange); err != nil {
		t.Fatal(err)
	}
	settle(t, x)
	check(t, x, p)
}

// TestDamageWhileItIsRead: a part that cannot be read any more leaves the index, and the reader is
// told to read the text.
func TestDamageWhileItIsRead(t *testing.T) {
	p := newPaper()
	p.fill(17)
	folder := t.TempDir()
	x := opened(t, folder, p)
	if err := os.Truncate(x.path(0, 16), 100); err != nil {
		t.Fatal(err)
	}
	v := x.View()
	defer v.Close()
	part, there := v.Part(5)
	if !there {
		t.Fatal("there is no part")
	}
	if _, err := part.Query([]string{"#1"}, []string{"tea"}, 0, 1<<60); err == nil {
		t.Error("a file of 100 bytes is read")
	}
	if _, there := v.Part(5); there {
		t.Error("the part is still there")
	}
	settle(t, x)
	check(t, x, p)
}

// TestNoDisk: an index that cannot be written serves what is in memory, and says once that it
// cannot be completed, and when it can.
func TestNoDisk(t *testing.T) {
	p := newPaper()
	p.fill(15)
	folder := t.TempDir()
	var said strings.Builder
	x := New(folder, p, slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(x.close)
	work := func() (did bool) {
		did, err := x.work(t.Context())
		x.tell(err)
		return did
	}
	for work() {
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	p.fill(20)
	for work() {
	}
	work()
	check(t, x, p)
	if got := strings.Count(said.String(), "cannot be completed"); got != 1 {
		t.Errorf("it says %d times that it is not complete:\n%s", got, said.String())
	}
	p.fill(100)
	for work() {
	}
	if got := len(x.sizes()); got != maxInMemory {
		t.Errorf("%d segments are in memory, want %d", got, maxInMemory)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for work() {
	}
	check(t, x, p)
	if !strings.Contains(said.String(), "completed again") {
		t.Errorf("it says\n%s", said.String())
	}
	if err := Remove(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if err := Remove(folder); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// TestRefilled: lines come to the text in which the index had none.
func TestRefilled(t *testing.T) {
	for _, restart := range []bool{false, true} {
		p := newPaper()
		p.fill(70)
		whole := slices.Clone(p.messages)
		from, to := uint64(10)<<ChunkBits+100, uint64(40)<<ChunkBits+100
		lacks := func(m Message) bool { return m.At >= from && m.At < to }
		p.messages = slices.DeleteFunc(p.messages, lacks)
		folder := t.TempDir()
		x := opened(t, folder, p)
		check(t, x, p)
		if restart {
			x.close()
			x = New(folder, p, quiet)
			t.Cleanup(x.close)
		}
		p.mu.Lock()
		p.messages = whole
		p.mu.Unlock()
		if err := x.Refilled(from, to); err != nil {
			t.Fatal(err)
		}
		v := x.View()
		for _, chunk := range []uint32{10, 25, 40} {
			if _, there := v.Part(chunk); there {
				t.Errorf("the chunk %d has stayed as it was", chunk)
			}
		}
		v.Close()
		settle(t, x)
		check(t, x, p)
	}
	if err := (*Index)(nil).Refilled(0, 1); err != nil {
		t.Errorf("without an index: %v", err)
	}
}

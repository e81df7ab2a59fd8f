package disk

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
)

// TestHalfway checks which bytes a loss of power in the middle of a write leaves.
func TestHalfway(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(t *tree, i *inode)
		want string
	}{
		{"a write", func(t *tree, i *inode) { t.write(i, []byte("0123456789"), 0) }, "01234"},
		{"appended", func(t *tree, i *inode) {
			t.write(i, []byte("0123"), 0)
			t.sync(i, true)
			t.write(i, []byte("45"), 4)
			t.write(i, []byte("67"), 6)
		}, "012345"},
		{"behind the end", func(t *tree, i *inode) { t.write(i, []byte("abcd"), 2) }, "\x00\x00ab"},
		{"two places", func(t *tree, i *inode) {
			t.write(i, []byte("......"), 0)
			t.sync(i, true)
			t.write(i, []byte("xy"), 4)
			t.write(i, []byte("ab"), 0)
		}, "....xy"},
		{"cut and written", func(t *tree, i *inode) {
			t.write(i, []byte("old old"), 0)
			t.sync(i, false)
			t.truncate(i, 0)
			t.write(i, []byte("new!"), 0)
		}, "ne"},
		{"written and cut", func(t *tree, i *inode) {
			t.write(i, []byte("abcdef"), 0)
			t.truncate(i, 2)
			t.write(i, []byte("zz"), 2)
		}, "abzz"}, // a sync writes the present contents
		{"cut alone", func(t *tree, i *inode) {
			t.write(i, []byte("abcdef"), 0)
			t.sync(i, true)
			t.truncate(i, 3)
		}, "abc"},
	} {
		tree := newTree()
		i, err := tree.make(tree.root, "f", syscall.S_IFREG|0o600, 0, 0)
		if err != 0 {
			t.Fatal(err)
		}
		test.do(tree, i)
		left := tree.lose(true)
		if got := string(left.root.entries["f"].data); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if err := tree.write(i, []byte("x"), 0); err != syscall.EIO {
			t.Errorf("%s: a write without power: got %v, want %v", test.name, err, syscall.EIO)
		}
	}
}

// An fdatasync that does not change a size carries no names.
func TestDataAlone(t *testing.T) {
	tree := newTree()
	log, _ := tree.make(tree.root, "log", syscall.S_IFREG, 0, 0)
	tree.write(log, []byte("...."), 0)
	tree.sync(log, true)
	tree.make(tree.root, "other", syscall.S_IFREG, 0, 0)
	tree.write(log, []byte("abcd"), 0)
	tree.sync(log, true)
	if n := len(tree.root.kept); n != 1 {
		t.Errorf("%d names are on the disk, want 1", n)
	}
	tree.write(log, []byte("e"), 4)
	tree.sync(log, true)
	if n := len(tree.root.kept); n != 2 {
		t.Errorf("%d names are on the disk, want 2", n)
	}
	if got := string(tree.lose(false).root.entries["log"].data); got != "abcde" {
		t.Errorf("got %q, want abcde", got)
	}
}

// After any operations, the data of the last sync is there after a loss, and the tree accounts for
// each byte.
func TestWhatWasSyncedIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tree, want := newTree(), map[string]string{}
		for range random.IntN(60) {
			name := fmt.Sprintf("f%d", random.IntN(4))
			i := tree.root.entries[name]
			if i == nil {
				i, _ = tree.make(tree.root, name, syscall.S_IFREG, 0, 0)
			}
			switch random.IntN(6) {
			case 0, 1, 2:
				tree.write(i, fmt.Appendf(nil, "%d", random.Uint64()),
					random.Int64N(int64(len(i.data))+3))
			case 3:
				tree.truncate(i, random.Int64N(50))
			case 4:
				tree.rename(tree.root, name, tree.root, fmt.Sprintf("f%d", random.IntN(4)))
			}
			if random.IntN(3) == 0 {
				tree.sync(tree.root, false)
				clear(want)
				for name, i := range tree.root.entries {
					tree.sync(i, random.IntN(2) == 0)
					want[name] = string(i.data)
				}
			}
		}
		for name, i := range tree.root.entries { // changes after the last sync of all are lost
			if len(i.pending) == 0 && tree.root.kept[name] == i && want[name] != string(i.data) {
				t.Fatalf("%s holds %q without a pending write, and was %q when it was synced", name,
					i.data, want[name])
			}
		}
		used := int64(0)
		for _, i := range tree.root.entries {
			used += int64(len(i.data))
		}
		if used != tree.used {
			t.Fatalf("%d bytes count as used, want %d", tree.used, used)
		}
		left := tree.lose(false)
		if len(left.root.entries) != len(want) {
			t.Fatalf("%d files are left, want %d", len(left.root.entries), len(want))
		}
		for name, text := range want {
			if i := left.root.entries[name]; i == nil || string(i.data) != text {
				t.Fatalf("%s holds not what was synced: want %q", name, text)
			}
		}
	}
}

package log

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// messages returns a text of some messages, and the offsets of their lines and of the end.
func messages(n int, random *rand.Rand) (text []byte, at []uint64) {
	for i := range n {
		at = append(at, uint64(len(text)))
		text = fmt.Appendf(text, "%s:ann!ann@127.0.0.1 PRIVMSG #tea :%d %s\n", lineA[:stampLen], i,
			strings.Repeat("x", random.IntN(400)))
	}
	return text, append(at, uint64(len(text)))
}

// wantSound checks that each line of the file is that of the whole text, or of blanks, and that
// Lines returns the former only.
func wantSound(t *testing.T, x *Text, whole []byte) {
	t.Helper()
	file, err := os.ReadFile(x.path())
	if err != nil || len(file) != len(whole) {
		t.Fatalf("the file has %d bytes, %v; want %d", len(file), err, len(whole))
	}
	at, lacking := 0, 0
	for line := range bytes.Lines(file) {
		if IsBlank(line) {
			lacking += len(line)
		} else if !bytes.Equal(line, whole[at:at+len(line)]) {
			t.Fatalf("at %d the file has %q", at, line)
		}
		at += len(line)
	}
	if x.Lacking() != uint64(lacking) {
		t.Fatalf("the text says that it lacks %v; the file has %d bytes of blanks", x.Lacks(),
			lacking)
	}
	for from, given := uint64(0), 0; ; {
		place, lines, err := x.Lines(from)
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) == 0 {
			if given != len(whole)-lacking {
				t.Fatalf("%d bytes were given to others, want %d", given, len(whole)-lacking)
			}
			return
		}
		if !bytes.HasPrefix(whole[place:], lines) {
			t.Fatalf("from %d others are given %q", place, lines)
		}
		given += len(lines)
		from = place + uint64(len(lines))
	}
}

// TestLackingLinesComeInAnyOrder: whatever comes first, and wherever the program ends in between,
// no reader sees half of a line, and in the end the text is whole.
func TestLackingLinesComeInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		whole, at := messages(100, random)
		first, last := 1+random.IntN(40), 50+random.IntN(50)
		if random.IntN(4) == 0 {
			first = 0 // of a new server
		}
		folder := t.TempDir()
		x := openText(t, folder)
		write(t, x, 0, string(whole[:at[first]]))
		if err := x.Lack(at[last]); err != nil {
			t.Fatal(err)
		}
		write(t, x, at[last], string(whole[at[last]:]))
		for len(x.Lacks()) > 0 {
			wantSound(t, x, whole)
			r := x.Lacks()[random.IntN(len(x.Lacks()))]
			i, _ := slices.BinarySearch(at, r.From)
			n, _ := slices.BinarySearch(at, r.To)
			from := i + random.IntN(n-i)
			to := from + 1 + random.IntN(n-from)
			if err := x.Fill(at[from], whole[at[from]:at[to]]); err != nil {
				t.Fatal(err)
			}
			if random.IntN(2) == 0 {
				if err := x.Filled(); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(4) == 0 {
				x.Close()
				x = openText(t, folder)
			}
		}
		if err := x.Filled(); err != nil {
			t.Fatal(err)
		}
		x.Close()
		openText(t, folder)
		wantFile(t, folder, string(whole))
		if _, err := os.Stat(filepath.Join(folder, lacksName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", lacksName, err)
		}
	}
}

// TestALackThatIsKilled: the program has ended in Lack, after it had noted what is lacking. A start
// then asks for these lines as if nothing had been.
func TestALackThatIsKilled(t *testing.T) {
	end := uint64(len(lineA))
	for _, blanks := range []uint64{0, 500, 1024, 3000} {
		folder := t.TempDir()
		text := append([]byte(lineA), missingLines(end, end+5000)[:blanks]...)
		err := errors.Join(os.WriteFile(filepath.Join(folder, "log"), text, 0o600),
			os.WriteFile(filepath.Join(folder, lacksName),
				fmt.Appendf(nil, "%d %d\n", end, end+5000), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		x := openText(t, folder)
		if x.End() != end || len(x.Lacks()) != 0 {
			t.Errorf("after %d bytes of blanks it ends at %d and lacks %v", blanks, x.End(),
				x.Lacks())
		}
		wantFile(t, folder, lineA)
	}
}

// TestAFillThatIsKilled: half of a line that Fill has written is not shown after the next start.
func TestAFillThatIsKilled(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	end := uint64(len(lineA))
	write(t, x, 0, lineA)
	if err := x.Lack(end + 4000); err != nil {
		t.Fatal(err)
	}
	if err := x.writeIn(end, []byte(lineB+lineB[:40])); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x = openText(t, folder)
	wantFile(t, folder, lineA+string(missingLines(end, end+4000)))
	if got := x.Lacks(); len(got) != 1 || got[0] != (Range{end, end + 4000}) {
		t.Errorf("it lacks %v", got)
	}
}

// TestWhatElseHappensToATextThatLacksLines: its head is cut off, lines are removed and erased, and
// written again from the stream.
func TestWhatElseHappensToATextThatLacksLines(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	end := uint64(len(lineA))
	lack := Range{end, end + 5000}
	write(t, x, 0, lineA)
	if err := x.Lack(lack.To); err != nil {
		t.Fatal(err)
	}
	write(t, x, lack.To, lineB+lineA)
	blanks := string(missingLines(lack.From, lack.To))
	erase(t, x, int(lack.From)+1024, len(lineB)) // of a message that is lacking
	wantFile(t, folder, lineA+blanks+lineB+lineA)

	x.step = func(step string) {
		if step != "new" {
			return
		}
		if err := x.Fill(lack.From, []byte(lineB)); !errors.Is(err, ErrBusy) {
			t.Errorf("while the text is copied Fill returns %v", err)
		}
	}
	if err := x.Cut(lack.To); err != nil { // nobody knows how old the lines before it are
		t.Fatal(err)
	}
	x.step = nil
	wantFile(t, folder, blanks+lineB+lineA)
	if n, err := x.Blank(func(l []byte, _ uint64) bool { return string(l) == lineB }); n != 1 ||
		err != nil {
		t.Errorf("%d lines were removed, %v", n, err)
	}
	wantFile(t, folder, blanks+string(blank([]byte(lineB)))+lineA)
	for _, f := range []struct {
		at    uint64
		lines string
	}{{0, lineA}, {lack.To, lineB}, {lack.From, "half"}, {lack.To - 10, lineA}} {
		if err := x.Fill(f.at, []byte(f.lines)); err == nil {
			t.Errorf("%q was taken at %d", f.lines, f.at)
		}
	}
	if err := x.Lack(x.End() - 1); err != nil || !slices.Equal(x.Lacks(), []Range{lack}) {
		t.Errorf("it lacks %v, %v", x.Lacks(), err)
	}

	// A stream that begins again within the part has the right lines from there on.
	write(t, x, lack.From+100, lineA)
	wantFile(t, folder, string(missingLines(lack.From, lack.From+100))+lineA)
	if got := x.Lacks(); len(got) != 1 || got[0] != (Range{lack.From, lack.From + 100}) {
		t.Errorf("it lacks %v", got)
	}
	if err := x.Cut(x.End()); err != nil || len(x.Lacks()) != 0 {
		t.Errorf("all is cut off, and it lacks %v, %v", x.Lacks(), err)
	}
}

func TestBlanksHaveTheirPlace(t *testing.T) {
	for from := range uint64(1100) {
		for _, size := range []uint64{1, 26, 27, 60, 1000, 1024, 1051, 1052, 3000} {
			lines, n := missingLines(from, from+size), 0
			for line := range bytes.Lines(lines) {
				if n++; len(line) > maxTextLine || line[len(line)-1] != '\n' ||
					size >= leastLine && !IsBlank(line) {
					t.Fatalf("%d bytes at %d have the line %q", size, from, line)
				}
			}
			if uint64(len(lines)) != size || n == 0 {
				t.Fatalf("%d bytes at %d are %d", size, from, len(lines))
			}
		}
	}
}

func FuzzParseLacks(f *testing.F) {
	for _, seed := range []string{"", "0 5\n", "0 5\n5 9\n100 2000\n", "5 5\n", "9 5\n",
		"0 5\n4 9\n", "-1 5\n", "0 99999999999999999999\n", "0 5", "0 5 6\n", "\n", "0x1 0b11\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lacks, err := parseLacks(text)
		if err != nil {
			return
		}
		var again []byte
		last := uint64(0)
		for _, r := range lacks {
			if r.From < last || r.To <= r.From {
				t.Fatalf("%q is %v", text, lacks)
			}
			last = r.To
			again = fmt.Appendf(again, "%d %d\n", r.From, r.To)
		}
		if other, err := parseLacks(again); err != nil || !slices.Equal(other, lacks) {
			t.Errorf("%q is %v, and written again %v, %v", text, lacks, other, err)
		}
	})
}

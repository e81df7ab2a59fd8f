package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

func TestOffer(t *testing.T) {
	tests := []struct {
		l    manifest.Load
		want string
	}{
		{manifest.Load{Shape: manifest.Closed, Connections: 150, SizeBytes: 16, Pipeline: 1,
			Requests: 10_000}, "150 connections, 16 B in closed loop, 10 000 requests each"},
		{manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: 1, Pipeline: 8,
			ReadShare: .5}, "1 connection, 1 B in closed loop, 8 in flight, 50 % reads"},
		{manifest.Load{Shape: manifest.Open, Connections: 150, SizeBytes: 16, Rate: 5000,
			Gaps: "exponential"},
			"150 connections, 5 000 requests/s of 16 B in open loop, exponential gaps"},
		{manifest.Load{Shape: manifest.Paced, Connections: 64, SizeBytes: 1250, Bits: 1e6},
			"64 connections, 1 Mbit/s each in messages of 1 250 B"},
		{manifest.Load{Shape: manifest.Paced, Connections: 64, SizeBytes: 1250, Bits: 1e6,
			Output: manifest.OutputFile},
			"64 connections, 1 Mbit/s each in messages of 1 250 B, written into a file"},
		{manifest.Load{Shape: manifest.Connect, Connections: 4, SizeBytes: 16},
			"4 connections, connect, send 16 B, read the reply, close"},
		{manifest.Load{Shape: manifest.Closed, Connections: 64, SizeBytes: 17_000,
			Ask: manifest.AskImage},
			"64 clients, an image of 17 kB posted and fetched, in closed loop"},
		{manifest.Load{Shape: manifest.Cold, Connections: 1, SizeBytes: 65_000, Requests: 1000,
			Ask: manifest.AskThumbnail},
			"1 client, an image of 65 kB posted and its thumbnail fetched, 1 000 times, the " +
				"first of a fresh server"},
		{manifest.Load{Shape: manifest.Open, Connections: 8, SizeBytes: 17_000, Rate: 50,
			Ask: manifest.AskUnchanged, Reads: 20},
			"8 clients, an image of 17 kB posted and fetched, then 19 times found unchanged, 50 " +
				"a second in open loop, constant gaps"},
		{manifest.Load{Shape: manifest.Closed, Connections: 64, SizeBytes: 17_000,
			Ask: manifest.AskImage, Chain: 8},
			"64 clients, an image of 17 kB posted and fetched, through a chain of 8 services, " +
				"in closed loop"},
		{manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: 17_000, Requests: 5,
			Ask: manifest.AskImage, Reads: 3},
			"1 client, an image of 17 kB posted and fetched 3 times, 5 times each"},
	}
	for _, tt := range tests {
		if got := plainSpaces(offer(tt.l)); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestTold(t *testing.T) {
	tests := []struct{ word, sentence, want string }{
		{"reproduced", "Here, A served 1.42x B's requests (95 % 1.38-1.47). Reproduced.",
			"Here, A served 1.42× B’s requests (95 % 1.38–1.47)."},
		{"not reproduced", "Here, A served less. Not reproduced: it is the other way round.",
			"Here, A served less. It is the other way round."},
		{"inconclusive", "Here, A builds. Inconclusive: x86_64-freebsd could not be tried.",
			"Here, A builds. x86_64-freebsd could not be tried."},
		{"reproduced", "Reproduced.", "Reproduced."},
		{"not comparable", "Not comparable: it needs two hosts.", "It needs two hosts."},
		{"not measured", "Not measured: eve-task was not measured in this run.",
			"eve-task was not measured in this run."},
		{"inconclusive", "", ""},
	}
	for _, tt := range tests {
		got := told(verdict.Verdict{Word: stats.Word(tt.word), Sentence: tt.sentence})
		if plainSpaces(got) != tt.want {
			t.Errorf("told(%q) = %q, want %q", tt.sentence, got, tt.want)
		}
	}
}

func TestSentence(t *testing.T) {
	tests := []struct{ note, want string }{
		{"memory settles later than CPU", "Memory settles later than CPU."},
		{"eve-task is the authors' own.", "eve-task is the authors’ own."},
		{`the paper says "practically nothing" of 2 x 32 GB, 5 % of it`,
			"The paper says “practically nothing” of 2 × 32 GB, 5 % of it."},
		{"", ""},
	}
	for _, tt := range tests {
		if got := plainSpaces(sentence(tt.note)); got != tt.want {
			t.Errorf("sentence(%q) = %q, want %q", tt.note, got, tt.want)
		}
	}
}

func TestTint(t *testing.T) {
	tests := []struct{ ext, text, want string }{
		{".c", "int a; // <b>\nb", "int a; <i>// &lt;b&gt;</i>\nb"},
		{".c", `s = "// no"; /* yes
still */ x`, "s = &#34;// no&#34;; <i>/* yes\nstill */</i> x"},
		{".c", "/* never ends", "<i>/* never ends</i>"},
		{".js", "`a // ${b}\n` // c", "`a // ${b}\n` <i>// c</i>"},
		{".erl", "f(\"%\") % c", "f(&#34;%&#34;) <i>% c</i>"},
		{".rs", "fn f<'a>() {} // c", "fn f&lt;&#39;a&gt;() {} <i>// c</i>"},
		{".txt", "// <", "// &lt;"},
		{".c", `"\"`, `&#34;\&#34;`},
		{".c", "", ""},
	}
	for _, tt := range tests {
		if got := string(tint(tt.ext, tt.text)); got != tt.want {
			t.Errorf("tint(%q)\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

func FuzzTint(f *testing.F) {
	f.Add(".c", "/* a */ \"b\" // c")
	f.Add(".go", "`\"'")
	f.Fuzz(func(t *testing.T, ext, text string) {
		got := string(tint(ext, text))
		if bare := strings.NewReplacer("<i>", "", "</i>",
			"").Replace(got); strings.ContainsAny(bare, "<>") {
			t.Errorf("tint(%q, %q) lets markup through: %q", ext, text, got)
		}
		if strings.Count(got, "<i>") != strings.Count(got, "</i>") {
			t.Errorf("tint(%q, %q) leaves a comment open: %q", ext, text, got)
		}
	})
}

func TestCommand(t *testing.T) {
	got := command([]string{"/somewhere/bin/interleave", "run", "a b", "it's", ""})
	if want := `interleave run 'a b' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRegion(t *testing.T) {
	tests := []struct {
		accept [2]float64
		want   string
	}{
		{[2]float64{0, .952}, "below 0.952"}, {[2]float64{math.Inf(-1), .8}, "below 0.800"},
		{[2]float64{1.05, math.Inf(1)}, "above 1.05"},
		{[2]float64{3.1, 4.85}, "3.10 to 4.85"}, {[2]float64{0, math.Inf(1)}, "–"},
	}
	for _, tt := range tests {
		if got := region(tt.accept); got != tt.want {
			t.Errorf("region(%v) = %q, want %q", tt.accept, got, tt.want)
		}
	}
}

func TestClaimed(t *testing.T) {
	from := func(source string, ours ...bool) *experiment {
		e := &experiment{Experiment: &manifest.Experiment{Source: source}}
		for _, o := range ours {
			e.verdicts = append(e.verdicts, verdict.Verdict{Claim: manifest.Claim{Ours: o}})
		}
		return e
	}
	tests := []struct {
		experiments []*experiment
		want        string
	}{
		{[]*experiment{from("a.txt, page 1", false), from("a.txt, page 2", false)},
			"2 published claims from 1 source"},
		{[]*experiment{from("a.txt", false), from("b.txt", false, true),
			from("a question of our own")},
			"2 published claims from 2 sources and 1 hypothesis of our own"},
		{[]*experiment{from("a.txt", true, true)}, "2 hypotheses of our own"},
	}
	for _, tt := range tests {
		if got := (&study{experiments: tt.experiments}).claimed(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestAbstractOfOneAndNone(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	end := at.Add(3*time.Minute + 41*time.Second)
	s := examine(Run{
		Header: record.Header{Started: at, Finished: &end, Machine: record.Machine{Cores: 1},
			Skipped: []record.Skip{{}}},
		Cells: []record.Cell{{Model: "c-epoll", Round: 1, Status: record.Void}},
	})
	got := plainSpaces(strings.Join(s.abstract(), " "))
	want := "This run holds no claim against this machine. Measured on 1 core of an unknown " +
		"processor on 21 November 2026 in 3 min 41 s: " +
		"0 experiments, 1 model, 0 rounds, 1 cell. Of the cells, one was voided by a gate (100 " +
		"%); no figure rests on them. " +
		"Not calibrated: the instrument was not held against known truths before this run. 1 " +
		"server was skipped, with the reason given below. With 0 rounds no 95 % interval can be " +
		"given: 6 are the least."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPausesAreNotMeasuring: a run that was left and resumed took as long as its sittings.
func TestPausesAreNotMeasuring(t *testing.T) {
	began := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	cell := func(minutes int) record.Cell {
		return record.Cell{Started: at(minutes), Took: time.Minute}
	}
	for _, c := range []struct {
		cells    []record.Cell
		finished int // minutes; 0: not at all
		minutes  int
		sittings int
	}{
		{nil, 0, 0, 1},
		{[]record.Cell{cell(3), cell(4)}, 0, 5, 1},
		{[]record.Cell{cell(3), cell(4)}, 6, 6, 1},
		{[]record.Cell{cell(4), cell(3), cell(20)}, 22, 22, 1}, // a long build
		{[]record.Cell{cell(3), cell(4), cell(105)}, 107, 7, 2},
		{[]record.Cell{cell(3), cell(104), cell(205)}, 0, 6, 3},
	} {
		s := &study{Run: Run{Header: record.Header{Started: began}, Cells: c.cells}}
		if c.finished > 0 {
			end := at(c.finished)
			s.Header.Finished = &end
		}
		took, sittings := s.took()
		if took != time.Duration(c.minutes)*time.Minute || sittings != c.sittings {
			t.Errorf("%d cells: got %v over %d sittings, want %d min over %d", len(c.cells), took,
				sittings, c.minutes, c.sittings)
		}
	}
}

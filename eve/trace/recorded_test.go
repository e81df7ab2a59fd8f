package trace_test

import (
	"bytes"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trace"
	"interleave/eve/trial"
	"interleave/internal/browser"
	"interleave/internal/freeport"
)

var sanitize = flag.String("sanitize", "",
	"build the programs with this sanitizer: address or thread")

// shop has a hundred tasks that want one till, which main holds until it ends.
const shop = `type till:
    sold: int

main: [+stdout] () void:
    t: till@ = till(0)
    for (i in 0..100):
        @ [+t]: t.sold += 1
    @ [t, +stdout]: print("%d\n", t.sold)
`

// sum has children that another worker may steal, and a finish whose children want one object.
const sum = `add: (n: int) int:
    if n < 2: return n
    a, b: int@
    finish:
        @ [+a, =n]: a = add(n - 1)
        @ [+b, =n]: b = add(n - 2)
    return a + b

main: [+stdout] () void:
    total: int@
    finish:
        for (i in 0..50):
            @ [+total, =i]: total += i
    print("%d %d\n", add(22), total)
`

// ticking runs until a signal ends it.
const ticking = `main: [+stderr] () void:
    n: int@
    t: timer@ = timer.every(1ms)
    on t fired [+n]: n += 1
    stderr.write("ready\n")
`

// busy computes in a handler, and then answers.
const busy = `import io.socket.*

spin: (n: int) int:
    x: int = 1
    for (i in 0..n): x = (x * 31 + i) % 1000003
    return x

main: [] () void:
    tcp_socket.listen(process.args()[0].to_int() else 0, "127.0.0.1"):
        listening = [+stderr] (l: listening&) void: stderr.write("ready\n")
        connection = [] (c: connection&) void:
            client: socket@ = c()
            on client data:
                b: bytes = client.read_buffer()
                if spin(30000000) != 7: client.write_buffer(b)
`

func compiled(t *testing.T, name, text string) string {
	t.Helper()
	return trial.Build(t, trial.Check(t, name, text), emit.Options{},
		build.Options{Optimise: true, Profile: true, Sanitize: *sanitize})
}

// start starts a program that records itself into a file.
func start(t *testing.T, program string, env ...string) (cmd *exec.Cmd, file string,
	out *bytes.Buffer) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "recording")
	cmd, out = exec.Command(program), &bytes.Buffer{}
	cmd.Env = append(append(os.Environ(), "EVE_RECORD="+file, "EVE_WORKERS=2",
		"TSAN_OPTIONS=halt_on_error=1"), env...)
	cmd.Stdout = out
	return cmd, file, out
}

func load(t *testing.T, file string) *trace.Trace {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trace.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func record(t *testing.T, program string, env ...string) (got *trace.Trace, out string) {
	t.Helper()
	cmd, file, printed := start(t, program, env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return load(t, file), printed.String()
}

// A program with known contention gives a trace that names the object and those who held it, and
// has each task and each wait once.
func TestRecordedContention(t *testing.T) {
	got, out := record(t, compiled(t, "shop.eve", shop))
	if out != "100\n" {
		t.Errorf("the program printed %q", out)
	}
	if got.Workers != 2 || !got.Whole || got.LostEvents() != 0 || got.Caution() != "" {
		t.Errorf("got %d workers, whole: %v, %q", got.Workers, got.Whole, got.Caution())
	}
	codes := map[string]int{}
	for _, task := range got.Tasks {
		codes[task.Code.Name+" "+task.Code.Place()]++
		if task.Made < 0 || task.Began < task.Made || task.Ended < task.Began ||
			task.Ended > got.Length || task.Worker < 0 || task.Worker > 1 {
			t.Errorf("got a task %+v", *task)
		}
	}
	want := map[string]int{"start of the program ": 1, "main ": 1, "shop.main, @ shop.eve:7": 100,
		"shop.main, @ shop.eve:8": 1}
	for name, n := range want {
		if codes[name] != n {
			t.Errorf("got %d tasks %q, want %d; all: %v", codes[name], name, n, codes)
		}
	}
	o := got.Objects[0]
	if o.Name != "shop.till" || o.Waits != 101 {
		t.Fatalf("the object with the most waiting: got %s with %d waits, want shop.till with 101",
			o.Name, o.Waits)
	}
	if len(o.Holds) != 102 { // main's, too
		t.Errorf("got %d holds, want 102", len(o.Holds))
	}
	held := map[string]bool{}
	for _, p := range o.Pairs {
		held[p.Waiter.Place()+" "+p.Holder.Name+" "+p.Holder.Place()] = true
	}
	for _, want := range []string{"shop.eve:7 main ", "shop.eve:7 shop.main, @ shop.eve:7",
		"shop.eve:8 main ", "shop.eve:8 shop.main, @ shop.eve:7"} {
		if !held[want] {
			t.Errorf("no pair %q in %v", want, held)
		}
	}
	for _, w := range got.Waits {
		if w.Open || w.Time() < 0 || w.Object == o && len(w.Holders) == 0 {
			t.Errorf("got a wait %+v", *w)
		}
	}
}

// Children of a finish are recorded with what they wait for, and stolen ones by name.
func TestRecordedFinish(t *testing.T) {
	program := compiled(t, "sum.eve", sum)
	got, out := record(t, program)
	if out != "17711 1225\n" {
		t.Errorf("the program printed %q", out)
	}
	children := 0
	for _, task := range got.Tasks {
		if task.Child {
			children++
			if task.Code.Name != "sum.main, @ in finish" || task.Code.Place() != "sum.eve:13" {
				t.Errorf("got a child %+v", *task.Code)
			}
		}
	}
	if children != 50 {
		t.Errorf("got %d children, want 50", children)
	}
	// The children that wait for an object are run by a token of the runtime, which has no name.
	for _, s := range got.Spans {
		if s.Kind == trace.Stolen && !strings.HasPrefix(s.Code.Name, "sum.") &&
			s.Code.Name != "a child in a finish" {
			t.Errorf("a stolen child has the name %q", s.Code.Name)
		}
	}
}

// When a ring is full its oldest events are overwritten, and that is said.
func TestRecordedOverflow(t *testing.T) {
	got, _ := record(t, compiled(t, "shop.eve", shop), "EVE_RECORD_EVENTS=64")
	if got.Events > 3*64 || got.LostEvents() == 0 ||
		!strings.Contains(got.Caution(), "overwritten") {
		t.Errorf("got %d events, %d lost, %q", got.Events, got.LostEvents(), got.Caution())
	}
}

// SIGQUIT writes what there is, and the program goes on; SIGINT writes it and ends the program.
func TestRecordedSignals(t *testing.T) {
	cmd, file, _ := start(t, compiled(t, "ticking.eve", ticking))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := stderr.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	fired := func() (n int) {
		for _, s := range load(t, file).Spans {
			if s.Kind == trace.Handling && s.Code.Name == "ticking.main, on fired" {
				n++
			}
		}
		return n
	}
	deadline := time.Now().Add(trial.Limit)
	for fired() < 3 {
		if time.Now().After(deadline) {
			t.Fatal("no recording with three calls of the handler")
		}
		cmd.Process.Signal(syscall.SIGQUIT)
		time.Sleep(5 * time.Millisecond)
	}
	before := fired()
	cmd.Process.Signal(syscall.SIGINT)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) ||
		exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("SIGINT: got %v, want its end by the signal", err)
	}
	if got := fired(); got < before {
		t.Errorf("at the end %d calls are recorded, before it %d were", got, before)
	}
	if left, _ := filepath.Glob(file + ".part*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// While a handler computes, another worker serves the clients of its worker, and that is recorded.
// A busy machine may not have run that worker in time, so the client asks again.
func TestRecordedLoan(t *testing.T) {
	port := freeport.For(t)
	cmd, file, _ := start(t, compiled(t, "busy.eve", busy))
	cmd.Args = append(cmd.Args, strconv.Itoa(port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := stderr.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.SetDeadline(time.Now().Add(trial.Limit))
	for {
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(syscall.SIGQUIT)
		got := load(t, file)
		if len(got.Loans) == 0 {
			continue
		}
		if l := got.Loans[0]; l.Of == l.By || l.Of > 1 || l.By > 1 || l.To < l.From {
			t.Errorf("got a loan %+v", l)
		}
		return
	}
}

// A recording that cannot be written ends the program before it begins.
func TestRecordedNowhere(t *testing.T) {
	cmd, file, out := start(t, compiled(t, "shop.eve", shop))
	cmd.Env = append(cmd.Env, "EVE_RECORD="+file+"/no/folder")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 1 || out.Len() > 0 ||
		!strings.Contains(said.String(), "cannot be written: No such file or directory") {
		t.Errorf("got %v, %q and %q", err, out, said.String())
	}
}

// beyond says whether the page scrolls sideways.
const beyond = "document.documentElement.scrollWidth > innerWidth"

// The page opens without a fault on a desktop and on a phone, in light and dark, shows who waited,
// and its search hides what does not match.
func TestPageInBrowser(t *testing.T) {
	browser.Needed(t)
	got, _ := record(t, compiled(t, "shop.eve", shop))
	file := filepath.Join(t.TempDir(), "page.html")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	source := func(string) (string, error) { return shop, nil }
	if err := errors.Join(got.HTML(out, source), out.Close()); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			p := browser.Open(t, width, 900, "")
			p.Scheme(scheme)
			p.Navigate("file://" + file)
			p.Until("the table of objects is filled",
				`document.querySelectorAll("#objects tbody tr").length > 0`)
			if browser.Eval[bool](p, beyond) {
				t.Errorf("at %d pixels the page scrolls sideways", width)
			}
			row := browser.Eval[string](p, `document.querySelector("#objects tbody tr").innerText`)
			if !strings.Contains(row, "shop.till") || !strings.Contains(row, "shop.eve:7") {
				t.Errorf("the first object: %q", row)
			}
			painted := browser.Eval[int](p, `(() => { const c = document.getElementById("time");
				const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
				return new Set(new Uint32Array(d.buffer)).size; })()`)
			if painted < 8 {
				t.Errorf("the timeline has %d colours", painted)
			}
			browser.Eval[bool](p, `(document.querySelector("#objects tbody tr").click(), true)`)
			p.Until("a wait is described", `document.getElementById("detail").innerText`+
				`.includes("waited") && document.getElementById("detail").innerText`+
				`.includes("held by")`)
			p.Picture("trace-" + scheme + "-" + map[int]string{1280: "wide", 390: "phone"}[width])
			browser.Eval[bool](p, `(() => {
				const s = document.getElementById("search");
				s.value = "no such thing";
				return s.dispatchEvent(new Event("input"));
			})()`)
			p.Until("all rows are hidden", `[...document.querySelectorAll("tbody tr")]`+
				`.every((r) => r.hidden)`)
		}
	}
}

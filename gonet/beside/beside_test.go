package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is the command itself, where the command runs itself again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-folder" {
		main()
		return
	}
	status := m.Run()
	_ = os.RemoveAll(built) // in the folder for temporary files, where it harms nobody
	os.Exit(status)
}

// built is the folder of the programs, if a test has needed them.
var built string

// programs builds the programs once, for all tests, and returns their folder.
var programs = sync.OnceValues(func() (folder string, err error) {
	if built, err = os.MkdirTemp("", "beside"); err == nil {
		err = build(context.Background(), built)
	}
	return built, err
})

// TestComparisons runs everything once, for a moment, and looks for each figure.
func TestComparisons(t *testing.T) {
	probe := exec.Command("unshare", "-rn", "sh", "-c", "ip link set lo up && test -e /dev/net/tun")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("SKIP: it needs a network namespace and tuns: %v %s", err, out)
	}
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	words := []string{"-folder", folder, "-rounds", "1", "-time", "50ms"}
	if err := enter(t.Context(), words, &out); err != nil {
		t.Fatal(err)
	}
	for _, c := range comparisons {
		_, table, found := strings.Cut(out.String(), "\n"+c.name+": ")
		if !found {
			t.Errorf("no table of %s in\n%s", c.name, out.String())
		}
		for _, r := range c.rows {
			if !strings.Contains(table, "\n| "+r.name+" | ") {
				t.Errorf("no %s in\n%s", r.name, table)
			}
		}
	}
}

// TestHello runs the programs of which the size is compared.
func TestHello(t *testing.T) {
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range []string{"gonet", "gvisor", "kernel"} {
		out, err := exec.Command(filepath.Join(folder, "hello-"+stack)).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "\r\n\r\nhello\n") {
			t.Errorf("%s says %q, %v", stack, out, err)
		}
	}
}

// TestRounds holds the order of the cells, and the table of their figures.
func TestRounds(t *testing.T) {
	c := comparison{name: "test", peer: "other", title: "a title",
		rows: []row{{name: "rate", least: 1.5}, {name: "cost", most: .5},
			{name: "size", limit: 2}},
		loads: []load{{name: "first"}, {name: "second"}}}
	var order []string
	given := map[string][]figures{
		"first gonet":  {{"rate": 10}, {"rate": 30}, {"rate": 20}},
		"first other":  {{"rate": 10}, {"rate": 10}, {"rate": 10}},
		"second gonet": {{"cost": 1, "size": 1}, {"cost": 2, "size": 2}, {"cost": 3, "size": 3}},
		"second other": {{"cost": 1, "size": 1}, {"cost": 1, "size": 8}, {"cost": 1, "size": 9}},
	}
	measure := func(_ context.Context, c cell) (figures, error) {
		name := c.load + " " + c.stack
		order = append(order, name)
		f := given[name][0]
		given[name] = given[name][1:]
		return f, nil
	}
	var out bytes.Buffer
	if err := c.run(t.Context(), 3, &out, measure, time.Second); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"first gonet", "first other", "second gonet", "second other",
		"first other", "first gonet"} {
		if order[i] != want {
			t.Errorf("cell %d is %s, want %s", i, order[i], want)
		}
	}
	for _, want := range []string{"| rate | 20 | 10 | 2.0 (1.0 to 3.0) | >= 1.5: met |\n",
		"| cost | 2.0 | 1.0 | 2.0 (1.0 to 3.0) | <= 0.50: missed |\n",
		"| size | 2.0 | 8.0 | 0.33 (0.25 to 1.0) | own <= 2.0: met |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	failed := errors.New("a failure")
	err := c.run(t.Context(), 1, &out, func(context.Context, cell) (figures, error) {
		return nil, failed
	}, time.Second)
	if !errors.Is(err, failed) || !strings.Contains(err.Error(), "test, first on gonet") {
		t.Errorf("a cell that fails: %v", err)
	}
	err = c.run(t.Context(), 1, &out, func(context.Context, cell) (figures, error) {
		return figures{"rate": 1}, nil
	}, time.Second)
	if err == nil {
		t.Error("cells without all figures are no error")
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", .0123: "0.012", .995: "0.99", 1.26: "1.3",
		12.6: "13", 12345: "12345"} {
		if got := short(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, words := range [][]string{{"nothing"}, {"-rounds", "0"}, {"-time", "x"}, {"-time", "0s"},
		{"-unknown"}, {"-help"}} {
		err := start(t.Context(), words, nil)
		if _, ok := errors.AsType[usageError](err); !ok {
			t.Errorf("%v: %v", words, err)
		}
	}
	o, err := parse([]string{"-rounds", "2", "size"})
	if err != nil || o.rounds != 2 || len(o.chosen) != 1 || o.chosen[0] != &size {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parse(nil)
	if err != nil || !slices.Equal(o.chosen, comparisons) {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestUsage compares two ways to read the figures of a process.
func TestUsage(t *testing.T) {
	own, err := ownCPU()
	if err != nil {
		t.Fatal(err)
	}
	read, err := cpuOf(os.Getpid())
	if err != nil || read < own-2*tick {
		t.Errorf("%v, and later %v, %v", own, read, err)
	}
	if bytes, err := ownResident(); err != nil || bytes < 1<<20 {
		t.Errorf("%v bytes, %v", bytes, err)
	}
	if _, err := cpuOf(-1); err == nil {
		t.Error("a process that is not there has used time")
	}
	if _, err := residentOf(-1); err == nil {
		t.Error("a process that is not there has memory")
	}
}

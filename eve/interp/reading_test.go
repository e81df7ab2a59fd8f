package interp_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/eve/interp"
	"interleave/eve/trial"
)

// util.reading reads integers as package strconv does, and durations as package time does, but for
// signs, fractions and the unit µs, which it refuses, and days, which package time does not have.
func FuzzReading(f *testing.F) {
	for _, s := range []string{"", "0", "-1", "255", "256", "18446744073709551615",
		"18446744073709551616", "1h30m", "1s1s", "9223372036s", "9223372037s", "1x", "5", "1.5h",
		"007", "1_000", "0x1", "0s",
		"2562047h47m16s854ms775us807ns", "2562047h47m16s854ms775us808ns"} {
		f.Add(s)
	}
	p := newTool(f, "reading", `
    all: string = ""
    match reading.of_text<uint<8>>(args[0]):
        ok(n): all += f"{n} "
        error(_): all += "- "
    match reading.of_text<uint>(args[0]):
        ok(n): all += f"{n} "
        error(_): all += "- "
    match reading.of_text<duration>(args[0]):
        ok(d): all += f"{d.nanoseconds()}"
        error(_): all += "-"
    say(all)
`)
	whole := regexp.MustCompile(`^([0-9]+(ns|us|ms|s|m|h))+$`)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 100 || strings.Contains(s, "d") || strings.ContainsAny(s, "+-") {
			return
		}
		want := ""
		for _, bits := range []int{8, 64} {
			if n, err := strconv.ParseUint(s, 10, bits); err == nil {
				want += fmt.Sprint(n, " ")
			} else {
				want += "- "
			}
		}
		d, err := time.ParseDuration(s)
		if err == nil && whole.MatchString(s) {
			want += fmt.Sprint(int64(d))
		} else {
			want += "-"
		}
		if got, wrong := p.call(t, s); got != want {
			t.Errorf("%q: got %q %s, want %q", s, got, wrong, want)
		}
	})
}

// A flag of any type is read by that, and an error is for the user.
func TestOwnFlags(t *testing.T) {
	p := trial.Check(t, "flags.eve", `union level:
    low
    high

main: [+stdout, +stderr] () void:
    c: args.command = args.command("tool", "has flags")
    c.option("wait", "w", "TIME", "1m30s", "how long")
    c.option("level", "", "LEVEL", "low", "how much")
    given: args.given = c.read(process.args())
    match given.read<duration>("wait"):
        ok(d):
            level: level! = given.read<level>("level")
            print("%d %v\n", d.milliseconds(), level)
        error(e): c.wrong(e.text())
`)
	for _, c := range []struct {
		words, out, err string
		status          int
	}{
		{"", "90000 low\n", "", 0},
		{"-w 2s --level=high", "2000 high\n", "", 0},
		{"--wait soon", "", "tool: --wait: \"soon\" is not a duration, such as 500ms or 1h30m\n" +
			"tool --help says more\n", 2},
		{"--level full", "90000 --level: \"full\" is not one of \"low\", \"high\"\n", "", 0},
	} {
		var out, err strings.Builder
		end := interp.Run(p, interp.Options{Stdout: &out, Stderr: &err,
			Args: strings.Fields(c.words)})
		if end.Status != c.status || out.String() != c.out || err.String() != c.err {
			t.Errorf("%s: got %d, %q, %q, %s, want %+v", c.words, end.Status, out.String(),
				err.String(), end.Trace, c)
		}
	}
}

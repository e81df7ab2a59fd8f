package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/ir"
	"interleave/eve/trial"
)

// A program that answers the offers of a client, its third argument, as a server with a wish; or
// confirms the reply of a server as a client with that wish.
const packingProgram = `import io.packing

wanted: (args: vector<string>) packing.wish:
    return packing.wish(keeps = args[1].starts_with("keeps"), window = args[2].to_int() else 15)

sides: (a: packing.agreement) string:
    return f"server {a.server_window} {a.server_keeps}, client {a.client_window} {a.client_keeps}"

main: [+stdout] () void:
    args: vector<string> = process.args()
    if args[0] == "offer":
        print("%s\n", packing.offer(wanted(args)))
        return
    match packing.parse(args[3]):
        error(e): print("error %d %s\n", e.code(), e.text())
        ok(all):
            if args[0] == "server":
                match packing.agree(all, wanted(args)):
                    none: print("declined\n")
                    some(a): print("%s\n%s\n", a.reply, sides(a))
            else:
                match packing.confirm(all, wanted(args)):
                    error(e): print("refused %s\n", e.text())
                    ok(a): print("%s\n", sides(a))
`

// settle is what a side makes of a field. The wish is "keeps" or "forgets", and a window.
func settle(t testing.TB, p *ir.Program, side, wish, field string) string {
	t.Helper()
	keeps, window, _ := strings.Cut(wish, " ")
	return strings.TrimSuffix(read(t, p, side, keeps, window, field), "\n")
}

// What servers make of offers, RFC 7692 sections 5 and 7.1.
func TestPackingOffers(t *testing.T) {
	t.Parallel()
	p := trial.Check(t, "packing.eve", packingProgram)
	const its = "permessage-deflate"
	for _, c := range []struct{ wish, offers, want string }{
		{"keeps 15", "", "declined"},
		{"keeps 15", "x-other; a=1, y", "declined"},
		{"keeps 15", its, its + "\nserver 15 true, client 15 true"},
		{"keeps 15", ", x-other ,\t" + its + " ,", its + "\nserver 15 true, client 15 true"},
		{"keeps 15", its + "; client_max_window_bits",
			its + "\nserver 15 true, client 15 true"},
		{"keeps 15", its + ";client_max_window_bits=10 ; server_max_window_bits = \"9\"",
			its + "; server_max_window_bits=9; client_max_window_bits=10\n" +
				"server 9 true, client 10 true"},
		{"keeps 15", its + "; server_max_window_bits=\"1\\5\"",
			its + "; server_max_window_bits=15\nserver 15 true, client 15 true"},
		{"keeps 15", its + "; server_max_window_bits=8; client_max_window_bits=8",
			its + "; server_max_window_bits=8; client_max_window_bits=8\n" +
				"server 8 true, client 8 true"},
		{"keeps 15", its + "; server_no_context_takeover",
			its + "; server_no_context_takeover\nserver 15 false, client 15 true"},
		{"keeps 15", its + "; client_no_context_takeover",
			its + "; client_no_context_takeover\nserver 15 true, client 15 false"},
		{"forgets 15", its, its + "; server_no_context_takeover; client_no_context_takeover\n" +
			"server 15 false, client 15 false"},
		{"keeps 10", its + "; client_max_window_bits; server_max_window_bits=12",
			its + "; server_max_window_bits=10; client_max_window_bits=10\n" +
				"server 10 true, client 10 true"},
		{"keeps 10", its + "; client_max_window_bits=9",
			its + "; client_max_window_bits=9\nserver 10 true, client 9 true"},
		// a client that keeps 32 KiB costs more memory than the program wants
		{"keeps 10", its, its + "; client_no_context_takeover\nserver 10 true, client 15 false"},

		// what is wrong is declined, and the next one looked at
		{"keeps 15", its + "; server_max_window_bits", "declined"},
		{"keeps 15", its + "; server_max_window_bits=7", "declined"},
		{"keeps 15", its + "; server_max_window_bits=16", "declined"},
		{"keeps 15", its + "; server_max_window_bits=08", "declined"},
		{"keeps 15", its + "; server_max_window_bits=+9", "declined"},
		{"keeps 15", its + "; server_max_window_bits=99999999999999999999", "declined"},
		{"keeps 15", its + "; client_max_window_bits=7", "declined"},
		{"keeps 15", its + "; client_max_window_bits=x", "declined"},
		{"keeps 15", its + "; server_no_context_takeover=1", "declined"},
		{"keeps 15", its + "; client_no_context_takeover=true", "declined"},
		{"keeps 15", its + "; client_max_window_bits; client_max_window_bits=9", "declined"},
		{"keeps 15", its + "; server_no_context_takeover; server_no_context_takeover", "declined"},
		{"keeps 15", its + "; max_window_bits=9", "declined"},
		{"keeps 15", its + "; x, " + its + "; client_no_context_takeover",
			its + "; client_no_context_takeover\nserver 15 true, client 15 false"},

		// what is no list of extensions
		{"keeps 15", "a b", "error 400 an extension has no name"},
		{"keeps 15", "; a", "error 400 an extension has no name"},
		{"keeps 15", its + ";", "error 400 a parameter of an extension has no name"},
		{"keeps 15", its + "; =1", "error 400 a parameter of an extension has no name"},
		{"keeps 15", its + "; a=", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=b=c", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"\"", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"b", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"b\\\"", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"b\"c\"", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"b c\"", "error 400 a parameter of an extension has no value"},
		{"keeps 15", its + "; a=\"b,c\"", "error 400 a parameter of an extension has no value"},
	} {
		if got := settle(t, p, "server", c.wish, c.offers); got != c.want {
			t.Errorf("%s of %q:\ngot  %q\nwant %q", c.wish, c.offers, got, c.want)
		}
	}
}

// What clients offer, and which replies to it they refuse: section 7.1.
func TestPackingReplies(t *testing.T) {
	t.Parallel()
	p := trial.Check(t, "packing.eve", packingProgram)
	const its = "permessage-deflate"
	const forgets = "; server_no_context_takeover; client_no_context_takeover"
	for wish, want := range map[string]string{
		"keeps 15":   its + "; client_max_window_bits",
		"forgets 15": its + "; client_max_window_bits" + forgets,
		"keeps 10": its + "; client_max_window_bits=10; server_max_window_bits=10, " +
			its + "; client_max_window_bits" + forgets,
		"forgets 10": its + "; client_max_window_bits=10; server_max_window_bits=10" + forgets +
			", " + its + "; client_max_window_bits" + forgets,
	} {
		if got := settle(t, p, "offer", wish, ""); got != want {
			t.Errorf("%s offers %q, want %q", wish, got, want)
		}
	}
	for _, c := range []struct{ wish, reply, want string }{
		{"keeps 15", its, "server 15 true, client 15 true"},
		{"keeps 15", its + forgets, "server 15 false, client 15 false"},
		{"keeps 15", its + "; server_max_window_bits=9; client_max_window_bits=8",
			"server 9 true, client 8 true"},
		{"forgets 15", its + forgets, "server 15 false, client 15 false"},
		{"forgets 15", its + "; server_no_context_takeover", "server 15 false, client 15 false"},
		{"keeps 10", its + "; server_max_window_bits=10", "server 10 true, client 10 true"},
		{"keeps 10", its + forgets, "server 15 false, client 10 false"},

		{"keeps 15", "", "refused the server wants an extension"},
		{"keeps 15", "x-other", "refused the server wants an extension"},
		{"keeps 15", its + ", " + its, "refused the server wants an extension"},
		{"keeps 15", its + "; x", "refused the parameter x is unknown"},
		{"keeps 15", its + "; client_max_window_bits",
			"refused client_max_window_bits has no value"},
		{"keeps 15", its + "; server_max_window_bits=16",
			"refused server_max_window_bits is from 8 to 15"},
		{"keeps 15", its + forgets + forgets, "refused server_no_context_takeover is there twice"},
		{"keeps 15", its + "; client_no_context_takeover=1",
			"refused client_no_context_takeover has a value"},
		{"forgets 15", its, "refused the server keeps its window"},
		{"keeps 10", its, "refused the window of the server is too large"},
		{"keeps 10", its + "; server_max_window_bits=11",
			"refused the window of the server is too large"},
		{"keeps 15", its + "; a=", "error 400 a parameter of an extension has no value"},
	} {
		if got := settle(t, p, "client", c.wish, c.reply); got != c.want {
			t.Errorf("%s gets %q:\ngot  %q\nwant %q", c.wish, c.reply, got, c.want)
		}
	}
}

// Any field is read: as an error, or as offers, of which one is taken or none. What a server
// replies says to a client what the server does.
func FuzzPacking(f *testing.F) {
	p := trial.Check(f, "packing.eve", packingProgram)
	const its = "permessage-deflate"
	for _, field := range []string{"", its, its + "; client_max_window_bits", "a, b; c=d, " + its,
		its + "; server_max_window_bits=10; client_max_window_bits=\"1\\2\"", "; ;", "a=\"",
		its + "; server_no_context_takeover; client_no_context_takeover; x"} {
		f.Add(field, true, 15)
		f.Add(field, false, 10)
	}
	f.Fuzz(func(t *testing.T, field string, keeps bool, window int) {
		if len(field) > 500 || window < 8 || window > 15 || strings.Contains(field, "\x00") {
			return // long ones only take time
		}
		wish := fmt.Sprint(map[bool]string{true: "keeps ", false: "forgets "}[keeps], window)
		got := settle(t, p, "server", wish, field)
		reply, sides, taken := strings.Cut(got, "\n")
		if !taken {
			if got != "declined" && !strings.HasPrefix(got, "error 400 ") {
				t.Fatalf("%q: got %q", field, got)
			}
			return
		}
		if !strings.Contains(field, its) {
			t.Fatalf("%q: nobody has offered %q", field, reply)
		}
		// A client that can do everything understands the reply as the server does, but for windows
		// that need not be told.
		seen := settle(t, p, "client", "keeps 15", reply)
		for _, side := range []string{"server", "client"} {
			window, keeps := sideOf(t, sides, side)
			if read, kept := sideOf(t, seen, side); kept != keeps || read < window {
				t.Fatalf("%q: %q means %q, and a client reads %q", field, reply, sides, seen)
			}
		}
	})
}

// sideOf finds the window of a side, and whether it is kept.
func sideOf(t *testing.T, sides, side string) (window int, keeps bool) {
	t.Helper()
	_, rest, found := strings.Cut(sides, side+" ")
	if _, err := fmt.Sscanf(strings.Split(rest, ",")[0], "%d %t", &window, &keeps); err != nil ||
		!found {
		t.Fatalf("no %s in %q", side, sides)
	}
	return window, keeps
}

package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("papaya.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaultsNeedNoFile(t *testing.T) {
	c, empty := Default(), parse(t, "")
	empty.File = ""
	if !reflect.DeepEqual(c, empty) {
		t.Errorf("an empty file gives %+v, none %+v", empty, c)
	}
	if c.Name != "chat" || c.Plain[0] != "127.0.0.1:6667" || c.Register != 30*time.Second ||
		c.Unread != 1<<20 || c.Keep != 0 {
		t.Errorf("the defaults are %+v", c)
	}
}

// TestEverySettingIsRead writes each setting with a value that is not its default. That setting
// must change, and no other.
func TestEverySettingIsRead(t *testing.T) {
	other := map[string]string{
		"server.name": `"irc.example.org"`, "server.network": `"Tea"`,
		"server.motd": "\"\"\"\nHello\nall\"\"\"", "server.data": `"d"`,
		"listen.plain": `[]`, "listen.tls": `["[::1]:0"]`, "listen.web": `[":443"]`,
		"listen.metrics": `"127.0.0.1:9"`, "listen.origins": `["a.org"]`, "listen.base": `"/a/b"`,
		"listen.proxied": `[":6668"]`, "listen.proxied_web": `["[::1]:8080"]`,
		"listen.trusted": `["192.0.2.0/24"]`, "listen.proxy_header": `"Forwarded"`,
		"tls.domains": `["a.org", "192.0.2.1"]`, "tls.acme": "true", "tls.acme_email": `"a@b.org"`,
		"tls.acme_directory": `"https://ca.example/dir"`,
		"tls.certificate":    `"c.pem"`, "tls.key": `"k.pem"`, "accounts.required": "false",
		"accounts.registration": `"open"`, "accounts.always_on": "false",
		"accounts.absent_in_names": "false", "accounts.invisible": "true",
		"accounts.scram":   "true",
		"server.utf8_only": "true", "server.cloak": "false",
		"accounts.expire": `"90d"`,
		"history.keep":    `"365d"`, "history.rooms": `["#tea 7d"]`, "history.index": "false",
		"push.enabled": "false", "push.content": `"nothing"`, "push.contact": `"https://a.org"`,
		"push.networks":   `["10.0.0.0/8"]`,
		"preview.enabled": "true", "preview.private": "true", "preview.ports": `["8080"]`,
		"preview.networks": `["10.0.0.0/8"]`, "preview.total": `"2 MiB"`,
		"public.rooms": `["#tea"]`, "public.index": "true",
		"cluster.nats":   `["nats://a:4222"]`,
		"cluster.member": `"b"`, "log.level": `"debug"`, "log.format": `"json"`,
		"limits.unread": `"64 KiB"`, "files.url": `"https://a.org/b"`, "tls.sts": "true",
	}
	for _, s := range settings {
		value, ok := other[s.path()]
		if !ok {
			switch s.field(&Config{}).(type) {
			case *int:
				value = "77"
			case *time.Duration:
				value = `"7s"`
			}
		}
		text := "[" + s.table + "]\n" + s.key + " = " + value + "\n"
		switch s.path() { // settings whose value must have a form
		case "tls.acme":
			text += "[listen]\nweb = [\":443\"]\n"
		case "tls.sts":
			text += "sts_port = 6698\n"
		case "tls.certificate":
			text += "key = \"k.pem\"\n"
		case "tls.key":
			text += "certificate = \"c.pem\"\n"
		}
		live, later := Changes(Default(), parse(t, text))
		changed := append(live, later...)
		if len(changed) == 0 || len(changed) != strings.Count(text, " = ") ||
			!strings.Contains(strings.Join(changed, " "), s.path()) {
			t.Errorf("%s changes %v", text, changed)
		}
		if s.live != (len(live) == 1) {
			t.Errorf("%s: live %v, restart %v", s.path(), live, later)
		}
	}
}

func TestWrongFiles(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[server", "papaya.toml:1: not TOML: "},
		{"[server]\nname = \"a\"\nname = \"b\"\n", "papaya.toml:3: not TOML: "},
		{"[sever]\n",
			"papaya.toml:1: unknown table [sever]: expected one of server, listen, tls, " +
				"accounts, limits, history, push, files, preview, public, cluster, log"},
		{"server = 1", "papaya.toml:1: server: expected a table [server], got 1"},
		{"\n[accounts]\n\nrequire = true\n",
			"papaya.toml:4: unknown key require in [accounts]: expected one of required, " +
				"registration, min_password, scram, always_on, absent_in_names, invisible, " +
				"expire, tokens, stay"},
		{"[accounts]\nrequired = \"yes\"\n",
			`papaya.toml:2: accounts.required: expected true or false, got "yes"`},
		{"[accounts]\nregistration = \"all\"\n",
			`papaya.toml:2: accounts.registration: expected closed or invitation or open, got "all"`},
		{"[server]\nname = 7\n", "papaya.toml:2: server.name: expected text in quotes, got 7"},
		{"[server]\nname = \"a b\"\n",
			`papaya.toml:2: server.name: expected the name of a host with 63 bytes at most, got "a b"`},
		{"[server]\nname = \"\"\n", "expected the name of a host"},
		{"[server]\nnetwork = \"a b\"\n", "expected a word of 1 to 32 bytes"},
		{"[server]\ndata = \"\"\n", "papaya.toml:2: server.data: is empty"},
		{"[server]\nmotd = \"" + strings.Repeat("x", 401) + "\"\n",
			"server.motd: its line 1 is longer than 400 bytes"},
		{"[listen]\nplain = \"127.0.0.1:6667\"\n",
			`papaya.toml:2: listen.plain: expected a list as ["a", "b"], got "127.0.0.1:6667"`},
		{"[listen]\ntls = [\"6697\"]\n",
			`papaya.toml:2: listen.tls: expected HOST:PORT as 127.0.0.1:6667, [::1]:6667 or :6697, got "6697"`},
		{"[listen]\ntls = [\":70000\"]\n", `expected a port from 0 to 65535, got "70000"`},
		{"[listen]\ntls = [7]\n", "expected text in quotes in the list, got 7"},
		{"[listen]\ntls = []\n[tls]\nsts = true\n",
			"papaya.toml:4: tls.sts: expected an address in listen.tls, or in tls.sts_port"},
		{"[tls]\nsts = true\n", "papaya.toml:2: tls.sts: expected tls.acme, or tls.certificate"},
		{"[listen]\ntls = [\":0\"]\n[tls]\nsts = true\ncertificate = \"a\"\nkey = \"b\"\n",
			"papaya.toml:4: tls.sts: expected tls.sts_port, since"},
		{"[preview]\nports = [\"0\"]\n",
			`papaya.toml:2: preview.ports: expected a port from 1 to 65535 as "443", got "0"`},
		{"[preview]\nports = [443]\n", "expected text in quotes in the list, got 443"},
		{"[preview]\nenabled = true\nports = []\n",
			"papaya.toml:3: preview.ports: expected one at least"},
		{"[preview]\nnetworks = [\"home\"]\n", "preview.networks: expected an address or a "},
		{"[preview]\ntotal = \"1 KiB\"\n", "preview.total: expected 1048576 to"},
		{"[tls]\nsts_port = 70000\n", "tls.sts_port: expected 0 to 65535, got 70000"},
		{"[tls]\nsts_duration = \"30d\"\n", `tls.sts_duration: expected a whole number, got "30d"`},
		{"[tls]\nsts_duration = -1\n", "tls.sts_duration: expected 0 to 315360000, got -1"},
		{"[files]\nurl = \"https://a.org/\"\n",
			`papaya.toml:2: files.url: expected a URL without a slash at its end, got "https://a.org/"`},
		{"[files]\nurl = \"a.org\"\n", "expected a URL that begins with https:// or http://"},
		{"[files]\nsize = \"x\"\n", `files.size: expected a size as "64 KiB", got "x"`},
		{"[listen]\ntls = []\nplain = []\n",
			"papaya.toml:1: listen: expected an address in plain, tls, web, proxied or " +
				"proxied_web"},
		{"[listen]\nproxied = [\":6668\"]\ntrusted = []\n",
			"papaya.toml:3: listen.trusted: expected the address of the proxy"},
		{"[listen]\ntrusted = [\"10.0.0.1/33\"]\n", "papaya.toml:2: listen.trusted: expected an " +
			`address or a network as 192.0.2.0/24, got "10.0.0.1/33"`},
		{"[listen]\nproxy_header = \"Via\"\n", `expected X-Forwarded-For or Forwarded, got "Via"`},
		{"[listen]\nbase = \"chat\"\n",
			`papaya.toml:2: listen.base: expected a path as "/chat", got "chat"`},
		{"[listen]\nbase = \"/a/../b\"\n", "listen.base: expected a path"},
		{"[listen]\nbase = \"/{x}\"\n", "listen.base: expected a path"},
		{"[listen]\nbase = \"/\"\n", "listen.base: expected a path"},
		{"[limits]\nconnections = 0\n",
			"papaya.toml:2: limits.connections: expected 1 to 1000000, got 0"},
		{"[limits]\nconnections = 1.5\n", "expected a whole number, got 1.5"},
		{"[limits]\nunread = \"1 MB\"\n", `limits.unread: expected a size as "64 KiB", got "1 MB"`},
		{"[limits]\nunread = 1\n", "expected 65536 to 1073741824, got 1"},
		{"[limits]\nsilent = 90\n",
			`papaya.toml:2: limits.silent: expected a time as "90d", "1h30m" or "250ms", got 90`},
		{"[limits]\nsilent = \"2d\"\n", "limits.silent: expected 1s to 1d, got 2d"},
		{"[limits]\nsilent = \"-5s\"\n", "expected a time as"},
		{"[history]\nkeep = 7\n", `papaya.toml:2: history.keep: expected a time as`},
		{"[history]\nkeep = { a = 1 }\n",
			`expected a time as "90d", "1h30m" or "250ms", got { … }`},
		{"[history]\nrooms = [\"tea 7d\"]\n",
			`papaya.toml:2: history.rooms: expected a room and a time as "#tea 7d", got "tea 7d"`},
		{"[history]\nrooms = [\"#tea\"]\n", `got "#tea"`},
		{"[public]\nrooms = [\"tea\"]\n",
			`papaya.toml:2: public.rooms: expected the name of a room as "#tea", got "tea"`},
		{"[history]\nrooms = [\"#tea forever\"]\n", `got "#tea forever"`},
		{"[tls]\nacme = true\n",
			"papaya.toml:2: tls.acme: expected an address with port 443 in listen.web"},
		{"[tls]\nkey = \"k\"\n",
			"papaya.toml:1: tls.certificate and tls.key: expected both or none"},
		{"[tls]\ndomains = []\n", "papaya.toml:2: tls.domains: expected one at least"},
		{"[tls]\ndomains = [\"a b\"]\n", "expected the name of a host or an address"},
		{"[tls]\nacme_directory = \"http://a\"\n", "expected a URL that begins with https://"},
		{"[tls]\nacme_email = \"ann\"\n", "expected an address as ann@example.org"},
		{"[cluster]\nmember = \"a.b\"\n", "expected up to 32 letters"},
		{strings.Repeat("#", maxFile+1), "papaya.toml: has more than 262144 bytes"},
	} {
		_, err := Parse("papaya.toml", []byte(test.text))
		var e *Error
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &e) {
			t.Errorf("%.80s:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestAllMistakesAreTold(t *testing.T) {
	_, err := Parse("papaya.toml",
		[]byte("[log]\nlevel = \"all\"\n[server]\nnam = \"a\"\nnetwork = 1\n"))
	want := `papaya.toml:2: log.level: expected debug or info or warn or error, got "all"
papaya.toml:4: unknown key nam in [server]: expected one of name, network, motd, data, utf8_only, cloak
papaya.toml:5: server.network: expected text in quotes, got 1`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// TestNoPasswordInMessages: a URL of NATS may contain a password.
func TestNoPasswordInMessages(t *testing.T) {
	_, err := Parse("papaya.toml", []byte("[cluster]\nnats = [\"http://ann:hunter2@host\"]\n"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestReload(t *testing.T) {
	old := parse(t, "[server]\nname = \"a\"\n[accounts]\nrequired = true\n")
	fresh := parse(t,
		"[server]\nname = \"b\"\nmotd = \"Hello\"\n[accounts]\nrequired = false\n[history]\n"+
			"keep = \"7d\"\n")
	live, later := Changes(old, fresh)
	if got := strings.Join(live, " ") + "; " +
		strings.Join(later, " "); got != "accounts.required history.keep; server.name server.motd" {
		t.Errorf("changes: %s", got)
	}
	now := Apply(old, fresh)
	if now.Name != "a" || now.MOTD != "" || now.Required || now.Keep != 7*day || !old.Required {
		t.Errorf("applied: %+v, old: %+v", now, old)
	}
	if live, later := Changes(fresh, fresh); live != nil || later != nil {
		t.Errorf("nothing has changed, but %v %v", live, later)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "absent.toml")
	if _, err := Load(file); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * day, "1h30m": 90 * time.Minute,
		"forever": 0, "250ms": 250 * time.Millisecond, "2h": 2 * time.Hour,
		"1m30s": 90 * time.Second, "5m": 5 * time.Minute, "20m": 20 * time.Minute,
		"10h": 10 * time.Hour} {
		d, err := duration(text)
		if err != nil || d != want || Duration(d) != text {
			t.Errorf("%s is %v, %v and written as %s", text, d, err, Duration(d))
		}
	}
}

// golden compares with a file that is made from the table of settings.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the settings say: go test ./papaya/config -update; got:\n%s", file,
			got)
	}
}

func TestExample(t *testing.T) {
	golden(t, "testdata/papaya.toml", Example())
	parse(t, Example())
	var keys []string
	for l := range strings.Lines(Example()) {
		if strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "# ") {
			l = l[1:] // l is a key
		}
		keys = append(keys, l)
	}
	c := parse(t, strings.Join(keys, "")) // every setting at its default
	if live, later := Changes(Default(), c); live != nil || later != nil {
		t.Errorf("the example says other values than the defaults: %v %v", live, later)
	}
}

// TestStrict: the port that clients are told is that of listen.tls, or one that a proxy has.
func TestStrict(t *testing.T) {
	for text, want := range map[string]int{
		"sts = true\ncertificate = \"a\"\nkey = \"b\"\n":    6697,
		"sts = true\nsts_port = 7000\nsts_duration = 0\n":   7000,
		"sts = true\nsts_port = 7000\n[listen]\ntls = []\n": 7000,
	} {
		c, err := Parse("papaya.toml", []byte("[tls]\n"+text))
		if err != nil || c.TLSPort() != want || !c.STS {
			t.Errorf("%q: %v, port %d; want %d", text, err, c.TLSPort(), want)
		}
	}
	if c := Default(); c.STS || c.STSDuration != 30*24*60*60 || c.TLSPort() != 6697 {
		t.Errorf("the defaults are %v, %d s, port %d", c.STS, c.STSDuration, c.TLSPort())
	}
}

// TestDocumentation compares the documentation's list of settings with the table.
func TestDocumentation(t *testing.T) {
	const file = "../../docs/papaya/configuration.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), "## [server]")
	if !found {
		t.Fatalf("%s has no list of settings", file)
	}
	golden(t, file, head+table())
}

// table returns the settings as a table in Markdown.
func table() string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b,
			"## [%s]\n%s\n\n| key | default | changes with | meaning |\n|---|---|---|---|\n",
			t.name, t.help)
		for _, s := range settings {
			if s.table != t.name {
				continue
			}
			when := "restart"
			if s.live {
				when = "reload"
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.key, literal(s.value), when,
				strings.ReplaceAll(s.help, "\n", " "))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(Example()))
	f.Add([]byte("[history]\nkeep = \"7d\"\n[limits]\nunread = \"64 KiB\""))
	f.Add([]byte("a.b = {c = [1, {d = 2}]}\n[[x]]\n[server]\nname=''"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("papaya.toml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if err == nil {
			if again, err := Parse("papaya.toml", data); err != nil ||
				!reflect.DeepEqual(c, again) {
				t.Errorf("read twice: %+v, %v", again, err)
			}
		}
	})
}

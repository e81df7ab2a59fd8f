package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/irc"
	"interleave/papaya/proxy"
	"interleave/papaya/push"
)

// A setting is one key of the file.
type setting struct {
	table, key string
	value      any               // the default, as it is written in TOML
	field      func(*Config) any // returns a pointer to the field
	unit       unit
	check      func(any) error // checks the field, by its pointer; nil: the type is enough
	live       bool            // may change while the server runs
	help       string          // for the example; may have several lines
}

// A unit is how a number is written.
type unit int

const (
	plain unit = iota
	bytes      // "1 MiB"
)

func (s setting) path() string { return s.table + "." + s.key }

// tables are the tables of the file, in order.
var tables = []struct{ name, help string }{
	{"server", "What the server is."},
	{"listen", "Where it listens: HOST:PORT, or :PORT for all addresses. An empty list is none."},
	{"tls", "The certificate: self-signed (clients pin the fingerprint), by ACME, or from files."},
	{"accounts", "Accounts and how to get one."},
	{"limits", "What one client, one address and all clients together may use."},
	{"history", "How long messages are kept."},
	{"push", "Notifications for devices (Web Push, ntfy): of mentions and private messages that " +
		"an account misses."},
	{"files", "Files that accounts send each other. They need listen.web or listen.proxied_web."},
	{"preview", "Previews of links, for which the server fetches the pages that people link to."},
	{"public", "Rooms that everybody may read on pages of their own, without an account."},
	{"cluster", "Several servers as one."},
	{"log", "The server's own log, on standard error."},
}

var settings = []setting{
	{"server", "name", "chat", func(c *Config) any { return &c.Name }, plain, hostname, false,
		"The server's name, which is the source of its own lines."},
	{"server", "network", "Papaya", func(c *Config) any { return &c.Network }, plain, word, false,
		"The network's name, which clients show."},
	{"server", "motd", "", func(c *Config) any { return &c.MOTD }, plain, motd, false,
		"The message of the day, several lines in \"\"\"…\"\"\"."},
	{"server", "data", "papaya-data", func(c *Config) any {
		return &c.Data
	}, plain, filled, false,
		"The folder for all data, made with mode 0700. A relative path begins in the folder " +
			"in which the server was started."},
	{"server", "utf8_only", false, func(c *Config) any { return &c.UTF8Only }, plain, nil, false,
		"Whether lines must be UTF-8 (UTF8ONLY). Others are refused, and not sent on."},
	{"server", "cloak", true, func(c *Config) any { return &c.Cloak }, plain, nil, false,
		"Whether others see a cloak in the place of a user's address, which is then not stored " +
			"either."},

	{"listen", "plain", []any{"127.0.0.1:6667"}, func(c *Config) any { return &c.Plain }, plain,
		addresses, false, "IRC without TLS. Keep it to this machine, unless the network is safe."},
	{"listen", "tls", []any{":6697"}, func(c *Config) any { return &c.TLS }, plain, addresses,
		false, "IRC over TLS."},
	{"listen", "web", []any{}, func(c *Config) any { return &c.Web }, plain, addresses, false,
		"The client for browsers, over TLS, and IRC over WebSocket at /socket. \":443\" is usual."},
	{"listen", "metrics", "", func(c *Config) any {
		return &c.Metrics
	}, plain, address, false,
		"Metrics for Prometheus at http://ADDRESS/metrics. They name no users, but are not for " +
			"the public: \"127.0.0.1:9667\"."},
	{"listen", "origins", []any{}, func(c *Config) any { return &c.Origins }, plain, hostnames,
		false, "Hosts of web pages that may open a WebSocket here, beside the server's own page."},
	{"listen", "base", "", func(c *Config) any { return &c.Base }, plain, basePath, false,
		"The path below which the page for browsers is: \"/chat\". Empty is the whole host."},
	{"listen", "proxied", []any{}, func(c *Config) any { return &c.Proxied }, plain, addresses,
		false, "IRC behind a reverse proxy, which must send the PROXY protocol. It may pass on " +
			"TLS."},
	{"listen", "proxied_web", []any{}, func(c *Config) any { return &c.ProxiedWeb }, plain,
		addresses, false, "The client for browsers behind a reverse proxy, which ends TLS itself."},
	{"listen", "trusted", []any{"127.0.0.1", "::1"}, func(c *Config) any {
		return &c.Trusted
	}, plain, networks, false,
		"Addresses and networks of these proxies. Nobody else may use proxied and proxied_web."},
	{"listen", "proxy_header", proxy.XForwardedFor, func(c *Config) any {
		return &c.ProxyHeader
	}, plain, oneOf(proxy.XForwardedFor, proxy.Forwarded), false,
		"The header in which the proxy before proxied_web names the client: \"X-Forwarded-For\", " +
			"or \"Forwarded\" (RFC 7239)."},

	{"tls", "domains", []any{"localhost"}, func(c *Config) any { return &c.Domains }, plain,
		hostnames, false, "The names and addresses by which clients reach the server."},
	{"tls", "acme", false, func(c *Config) any {
		return &c.ACME
	}, plain, nil, false,
		"Get the certificate from an authority. Needs port 443 in listen.web, and domains that " +
			"lead to this machine. With true\nyou agree to the terms of the authority."},
	{"tls", "acme_email", "", func(c *Config) any { return &c.ACMEEmail }, plain, email, false,
		"Where the authority may write when a certificate is about to expire."},
	{"tls", "acme_directory", "", func(c *Config) any { return &c.Directory }, plain, https, false,
		"The URL of the authority's directory; empty is Let's Encrypt."},
	{"tls", "certificate", "", func(c *Config) any { return &c.Certificate }, plain, nil, false,
		"A certificate from elsewhere, as a PEM file. A reload reads it and its key again."},
	{"tls", "key", "", func(c *Config) any { return &c.Key }, plain, nil, false,
		"The PEM file of its key."},
	{"tls", "sts", false, func(c *Config) any { return &c.STS }, plain, nil, false,
		"Whether clients that know it (sts of IRCv3) must come over TLS, and keep to that. They " +
			"then refuse the server whenever\nits certificate is not valid, so it must be one " +
			"that they trust: not the server's own."},
	{"tls", "sts_duration", int64(30 * 24 * 60 * 60), func(c *Config) any {
		return &c.STSDuration
	}, plain, between(0, 10*365*24*60*60), false,
		"For how many seconds clients keep to it after each connection. 0 tells them that it has " +
			"ended: do that before TLS goes."},
	{"tls", "sts_port", int64(0), func(c *Config) any { return &c.STSPort }, plain,
		between(0, 65535), false,
		"The port for TLS that clients are told; 0 is that of the first address in listen.tls. " +
			"Set it if clients see\nanother one, or if a proxy ends TLS."},

	{"accounts", "required", true, func(c *Config) any { return &c.Required }, plain, nil, true,
		"Whether a client must log in to an account."},
	{"accounts", "registration", Invitation, func(c *Config) any {
		return &c.Registration
	}, plain, oneOf(Closed, Invitation, Open), true,
		"Who may make an account: \"closed\" nobody, \"invitation\" everybody with an invitation " +
			"(papaya admin invite), \"open\" everybody."},
	{"accounts", "min_password", int64(account.MinPassword), func(c *Config) any {
		return &c.MinPassword
	}, plain, between(1, account.MaxPassword), false,
		"The least length of a new password in bytes. Less than 12 is for tests."},
	{"accounts", "scram", false, func(c *Config) any { return &c.Scram }, plain, nil, false,
		"Whether clients may log in by SCRAM-SHA-256, which does not send the password. Then " +
			"keys are stored that are\ncheaper to guess from than the hashes. An account gets " +
			"them with its next login by password."},
	{"accounts", "always_on", true, func(c *Config) any { return &c.AlwaysOn }, plain, nil, true,
		"Whether an account stays in its rooms, as away, when it is not connected. It holds from " +
			"the account's next login on."},
	{"accounts", "absent_in_names", true, func(c *Config) any {
		return &c.AbsentInNames
	}, plain, nil, true,
		"Without always_on: whether NAMES and WHO show members with an account that are not " +
			"connected."},
	{"accounts", "invisible", false, func(c *Config) any { return &c.Invisible }, plain, nil, true,
		"Whether a user is invisible (+i) until it says MODE -i: only those find it who know its " +
			"nick, or are in a room with it."},
	{"accounts", "expire", "forever", func(c *Config) any { return &c.Expire }, plain,
		within(0, 100*365*day), true,
		"The time without a connection after which an account leaves its rooms: \"90d\", " +
			"\"forever\". It is checked once a day."},
	{"accounts", "tokens", int64(20), func(c *Config) any { return &c.Tokens }, plain,
		between(0, 100), true,
		"Tokens of one account: devices that stay signed in, and programs. 0 is none: nobody " +
			"stays signed in."},
	{"accounts", "stay", "60d", func(c *Config) any { return &c.Stay }, plain,
		within(0, 100*365*day), true,
		"The time without use after which a token ends: \"60d\", \"forever\"."},

	{"limits", "connections", int64(10_000), func(c *Config) any { return &c.Connections }, plain,
		between(1, 1_000_000), true, "Connections in all."},
	{"limits", "connections_per_address", int64(20), func(c *Config) any {
		return &c.PerAddress
	}, plain, between(0, 1_000_000), true,
		"Connections of one address (for IPv6, of one /64 network); 0 is no limit. Those of " +
			"this machine are not counted."},
	{"limits", "connect_burst", int64(20), func(c *Config) any {
		return &c.ConnectBurst
	}, plain, between(0, 1_000_000), false,
		"Connections that an address may open at once; 0 is no limit."},
	{"limits", "connect_every", "3s", func(c *Config) any { return &c.ConnectEvery }, plain,
		within(time.Millisecond, time.Hour), false, "The time until it may open one more."},
	{"limits", "register", "30s", func(c *Config) any { return &c.Register }, plain,
		within(time.Second, time.Hour), false, "The time for a client to register."},
	{"limits", "silent", "90s", func(c *Config) any { return &c.Silent }, plain, within(time.Second,
		day), false, "The silence after which a client gets a PING."},
	{"limits", "answer", "30s", func(c *Config) any { return &c.Answer }, plain,
		within(time.Second, time.Hour), false,
		"The time for its answer. Without one it is disconnected."},
	{"limits", "confirm", "500ms", func(c *Config) any { return &c.Confirm }, plain,
		within(time.Millisecond, time.Hour), false,
		"The time after a message after which a client is asked by PING whether it has arrived. " +
			"Messages that a client has not confirmed when its connection breaks are sent again."},
	{"limits", "unread", "1 MiB", func(c *Config) any { return &c.Unread }, bytes, between(64<<10,
		1<<30), false,
		"Unsent bytes of a client that does not read. With more it is disconnected."},
	{"limits", "lines_burst", int64(200), func(c *Config) any {
		return &c.LineBurst
	}, plain, between(0, 1_000_000), false,
		"Lines that an account, or an address without one, may send at once; 0 is no limit. " +
			"The server does not read from a client that sends more, for a while."},
	{"limits", "lines_every", "50ms", func(c *Config) any { return &c.LineEvery }, plain,
		within(time.Millisecond, time.Minute), false, "The time until it may send one more."},
	{"limits", "rooms", int64(100), func(c *Config) any { return &c.Rooms }, plain,
		between(1, 10_000), false, "Rooms that one client may be in."},

	{"history", "keep", "forever", func(c *Config) any { return &c.Keep }, plain,
		within(0, 100*365*day), true,
		"The age at which messages are removed: \"90d\", \"forever\"."},
	{"history", "rooms", []any{}, func(c *Config) any { return &c.KeepRooms }, plain,
		each(checkRoom), true,
		"Rooms whose messages are removed sooner, with the age: \"#tea 7d\"."},
	{"history", "redact", "1d", func(c *Config) any { return &c.Redact }, plain,
		within(0, 100*365*day), true,
		"The age up to which users may remove their own messages: \"1d\", \"forever\". " +
			"Operators of a room may remove its messages at any age."},
	{"history", "edit", "1d", func(c *Config) any { return &c.Edit }, plain,
		within(0, 100*365*day), true,
		"The age up to which users may change their own messages: \"1d\", \"forever\"."},
	{"history", "index", true, func(c *Config) any { return &c.Index }, plain, nil, false,
		"Whether an index makes searches and histories fast. It is made from the messages, takes " +
			"about a third of their size, and false removes it."},

	{"push", "enabled", true, func(c *Config) any { return &c.Push }, plain, nil, false,
		"Whether accounts may have devices notified, by push services that these name."},
	{"push", "content", string(push.Everything), func(c *Config) any {
		return &c.PushContent
	}, plain, oneOf(push.Contents...), true,
		"What a notification says: \"everything\", \"who\" (from whom it is and where) or " +
			"\"nothing\" (that there is a message). Only the device can read it, but that of a " +
			"topic of ntfy its server can read, too."},
	{"push", "contact", "", func(c *Config) any { return &c.PushContact }, plain, contact, false,
		"Where push services may reach you: an address as ann@example.org, or a URL with " +
			"https. Empty is the URL of the page."},
	{"push", "networks", []any{}, func(c *Config) any {
		return &c.PushNetworks
	}, plain, networks, false,
		"Networks of your own in which push services may be, such as an ntfy at " +
			"\"192.168.1.2\". Notifications are kept out of all others that are not of the " +
			"Internet."},

	{"files", "size", "25 MiB", func(c *Config) any { return &c.FilesSize }, bytes,
		between(0, maxFiles), true, "The largest file; 0 is no files at all."},
	{"files", "account", "500 MiB", func(c *Config) any { return &c.FilesAccount }, bytes,
		between(0, maxFiles), true, "What all files of one account may take."},
	{"files", "total", "10 GiB", func(c *Config) any { return &c.FilesTotal }, bytes,
		between(0, maxFiles), true, "What all files together may take."},
	{"files", "pixels", int64(25_000_000), func(c *Config) any { return &c.FilesPixels }, plain,
		between(1, 1_000_000_000), true,
		"The largest image in pixels. While its thumbnail is made, one at a time, an image may " +
			"take 15 bytes of memory for each pixel."},
	{"files", "keep", "forever", func(c *Config) any { return &c.FilesKeep }, plain,
		within(0, 100*365*day), true,
		"The age at which files are removed: \"90d\", \"forever\". history.keep holds for files, " +
			"too."},
	{"files", "url", "", func(c *Config) any { return &c.FilesURL }, plain, pageURL, false,
		"The URL of the page, for links to files: \"https://chat.example.org\". Empty is made of " +
			"the first of\ntls.domains, the port of listen.web, and listen.base."},

	{"preview", "enabled", false, func(c *Config) any { return &c.Preview }, plain, nil, false,
		"Whether links in messages get previews. False removes the images that are kept."},
	{"preview", "private", false, func(c *Config) any {
		return &c.PreviewPrivate
	}, plain, nil, true,
		"Whether links in private messages get previews, too. Some of these links are secrets, " +
			"or work once only."},
	{"preview", "networks", []any{}, func(c *Config) any {
		return &c.PreviewNetworks
	}, plain, networks, false,
		"Networks of your own in which pages may be, such as a wiki at \"192.168.1.2\": all " +
			"users can then have the server\nask there. Pages are not fetched from any other " +
			"that is not of the Internet."},
	{"preview", "ports", []any{"80", "443"}, func(c *Config) any {
		return &c.PreviewPorts
	}, plain, each(checkPort), false, "The ports that links may name."},
	{"preview", "keep", "30d", func(c *Config) any { return &c.PreviewKeep }, plain,
		within(0, 100*365*day), true,
		"The age at which the images of previews are removed: \"30d\", \"forever\". history.keep " +
			"holds for them, too."},
	{"preview", "total", "1 GiB", func(c *Config) any { return &c.PreviewTotal }, bytes,
		between(1<<20, maxFiles), true,
		"What all these images together may take. With more, the oldest are removed."},

	{"public", "rooms", []any{}, func(c *Config) any { return &c.PublicRooms }, plain,
		each(checkName), true,
		"The rooms, as \"#tea\"; an empty list is none. They are at /public/. Tell their members."},
	{"public", "age", "7d", func(c *Config) any { return &c.PublicAge }, plain,
		within(0, 100*365*day), true,
		"The age up to which their messages are shown there: \"7d\", \"forever\"."},
	{"public", "index", false, func(c *Config) any { return &c.PublicIndex }, plain, nil, true,
		"Whether search engines may have these pages."},
	{"public", "readers", int64(200), func(c *Config) any { return &c.PublicReaders }, plain,
		between(1, 100_000), false, "How many readers may wait for new messages at a time."},

	{"cluster", "nats", []any{}, func(c *Config) any {
		return &c.NATS
	}, plain, urls, false,
		"URLs of a NATS cluster with JetStream; none: the server embedded in the program."},
	{"cluster", "member", "", func(c *Config) any {
		return &c.Member
	}, plain, member, false,
		"This server's name among those that share the cluster. It must not change. Empty is " +
			"server.name."},

	{"log", "level", "info", func(c *Config) any {
		return &c.Level
	}, plain, oneOf("debug", "info", "warn", "error"), true,
		"The lowest level that is logged: \"debug\", \"info\", \"warn\", \"error\". Passwords " +
			"and messages are never logged."},
	{"log", "format", "text", func(c *Config) any { return &c.Format }, plain,
		oneOf("text", "json"), false, "\"text\", or \"json\": then each line is an object, also " +
			"the last one, which says why the server has ended."},
}

const day = 24 * time.Hour

// maxFiles bounds the limits of files in bytes: a tebibyte.
const maxFiles = 1 << 40

func between(least, most int) func(any) error {
	return func(v any) error {
		if n := *v.(*int); n < least || n > most {
			return fmt.Errorf("expected %d to %d, got %d", least, most, n)
		}
		return nil
	}
}

func within(least, most time.Duration) func(any) error {
	return func(v any) error {
		if d := *v.(*time.Duration); d < least || d > most {
			return fmt.Errorf("expected %s to %s, got %s", Duration(least), Duration(most),
				Duration(d))
		}
		return nil
	}
}

func oneOf(words ...string) func(any) error {
	return func(v any) error {
		if s := *v.(*string); !slices.Contains(words, s) {
			return fmt.Errorf("expected %s, got %q", strings.Join(words, " or "), s)
		}
		return nil
	}
}

func each(check func(string) error) func(any) error {
	return func(v any) error {
		for _, s := range *v.(*[]string) {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	addresses = each(checkAddress)
	hostnames = each(checkHost)
	urls      = each(func(s string) error { return checkURL(s, "nats", "tls", "ws", "wss") })
)

func networks(v any) error {
	_, err := proxy.ParseNetworks(*v.(*[]string))
	return err
}

// basePath accepts a path whose segments need no escaping.
func basePath(v any) error {
	allowed := regexp.MustCompile(`^/[A-Za-z0-9/._~-]+$`)
	if s := *v.(*string); s != "" && (!allowed.MatchString(s) || s != path.Clean(s)) {
		return fmt.Errorf("expected a path as \"/chat\", got %q", s)
	}
	return nil
}

func address(v any) error {
	if s := *v.(*string); s != "" {
		return checkAddress(s)
	}
	return nil
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("expected HOST:PORT as 127.0.0.1:6667, [::1]:6667 or :6697, got %q", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port != strconv.FormatUint(n, 10) {
		return fmt.Errorf("%q: expected a port from 0 to 65535, got %q", s, port)
	}
	return nil
}

func checkPort(s string) error {
	if n, err := strconv.ParseUint(s, 10, 16); err != nil || n == 0 ||
		s != strconv.FormatUint(n, 10) {
		return fmt.Errorf("expected a port from 1 to 65535 as \"443\", got %q", s)
	}
	return nil
}

func checkName(room string) error {
	if !irc.IsRoom(room) {
		return fmt.Errorf("expected the name of a room as \"#tea\", got %q", room)
	}
	return nil
}

// RoomAge parses "#tea 7d": how long messages of a room are kept.
func RoomAge(s string) (room string, age time.Duration, err error) {
	room, word, ok := strings.Cut(s, " ")
	if ok && len(room) > 1 && len(room) <= 50 && room[0] == '#' &&
		!strings.ContainsAny(room, ",:\x00\a") {
		if age, err = duration(strings.TrimSpace(word)); err == nil && age > 0 {
			return room, age, nil
		}
	}
	return "", 0, fmt.Errorf("expected a room and a time as \"#tea 7d\", got %q", s)
}

func checkRoom(s string) error {
	_, _, err := RoomAge(s)
	return err
}

var host = regexp.MustCompile(
	`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?)*$`)

func checkHost(s string) error {
	if net.ParseIP(s) == nil && (!host.MatchString(s) || len(s) > 253) {
		return fmt.Errorf("expected the name of a host or an address, got %q", s)
	}
	return nil
}

func hostname(v any) error {
	s := *v.(*string)
	if !host.MatchString(s) || len(s) > 63 { // the name is in every line, which has 512 bytes
		return fmt.Errorf("expected the name of a host with 63 bytes at most, got %q", s)
	}
	return nil
}

func word(v any) error {
	if s := *v.(*string); s == "" || len(s) > 32 || strings.ContainsAny(s, " \t\r\n\x00:=") {
		return fmt.Errorf("expected a word of 1 to 32 bytes, got %q", s)
	}
	return nil
}

func member(v any) error {
	if s := *v.(*string); s != "" && !regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(s) {
		return fmt.Errorf("expected up to 32 letters, digits, - and _, got %q", s)
	}
	return nil
}

func filled(v any) error {
	if *v.(*string) == "" {
		return errors.New("is empty")
	}
	return nil
}

// motdLine is in bytes: with `:chat 372 nick :- ` before it, the line stays below 512.
const motdLine = 400

func motd(v any) error {
	for i, l := range strings.Split(*v.(*string), "\n") {
		if len(l) > motdLine || strings.ContainsAny(l, "\x00\r") {
			return fmt.Errorf("its line %d is longer than %d bytes or has a NUL or CR", i+1,
				motdLine)
		}
	}
	return nil
}

func email(v any) error {
	if s := *v.(*string); s != "" && (strings.Count(s, "@") != 1 ||
		strings.ContainsAny(s, " \r\n")) {
		return fmt.Errorf("expected an address as ann@example.org, got %q", s)
	}
	return nil
}

func contact(v any) error {
	if strings.HasPrefix(*v.(*string), "https:") {
		return https(v)
	}
	return email(v)
}

func https(v any) error {
	if s := *v.(*string); s != "" {
		return checkURL(s, "https")
	}
	return nil
}

// pageURL accepts a URL without a slash at its end.
func pageURL(v any) error {
	s := *v.(*string)
	switch {
	case s == "":
		return nil
	case strings.ContainsAny(s, " ?#") || strings.HasSuffix(s, "/"):
		return fmt.Errorf("expected a URL without a slash at its end, got %q", s)
	}
	return checkURL(s, "https", "http")
}

func checkURL(s string, schemes ...string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		// The value may contain a password, so it is not shown.
		return fmt.Errorf("expected a URL that begins with %s://, got one that does not",
			strings.Join(schemes, ":// or "))
	}
	return nil
}

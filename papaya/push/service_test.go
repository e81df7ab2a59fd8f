package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/fence"
	"interleave/papaya/hall"
	"interleave/papaya/proxy"
	"interleave/papaya/push/pushtest"
)

// results counts what has become of pushes.
type results struct {
	mu   sync.Mutex
	each map[string]int
}

func (r *results) count(result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.each == nil {
		r.each = map[string]int{}
	}
	r.each[result]++
}

func (r *results) of(result string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.each[result]
}

// until waits until n pushes had a result.
func (r *results) until(t *testing.T, result string, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); r.of(result) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d pushes are %s, want %d", r.of(result), result, n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// loopback lets requests to this machine through the fence.
var loopback, _ = proxy.ParseNetworks([]string{"127.0.0.0/8", "::1"})

// open opens a service that trusts the certificates of push services.
func open(t *testing.T, store account.Store, change func(*Options),
	trusted ...*pushtest.Service) (*Service, *results) {
	t.Helper()
	count := &results{}
	o := Options{Store: store, Server: "chat", Contact: "ann@example.org", Networks: loopback,
		Content: func() Content { return Everything }, Count: count.count,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&o)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, service := range trusted {
		roots.AddCert(service.Certificate())
	}
	s.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	return s, count
}

// run runs a service until the test ends.
func run(t *testing.T, s *Service) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
}

// register subscribes a device.
func register(t *testing.T, s *Service, account string, d *pushtest.Device) {
	t.Helper()
	if err := s.Register(t.Context(), account, d.Endpoint, d.Keys()); err != nil {
		t.Fatal(err)
	}
}

// told is a message to ann in a room.
func told(text string) hall.Notice {
	return hall.Notice{Account: "ann", Nick: "Ann", Target: "#tea", Room: true,
		Head: "@time=2026-11-26T09:00:00.000Z;msgid=2s :bob!bob@host PRIVMSG #tea :", Text: text}
}

// TestPush: a device reads what is pushed, and knows whose it is. The length tells nothing.
func TestPush(t *testing.T) {
	service := pushtest.New(t, true)
	var content atomic.Value
	s, count := open(t, &account.Memory{}, func(o *Options) {
		o.Content = func() Content { return content.Load().(Content) }
	}, service)
	phone, laptop := service.Device(), service.Device()
	register(t, s, "Ann", phone)
	register(t, s, "ann", laptop)
	if !s.Wants("ann") || s.Wants("bob") {
		t.Error("the wrong accounts have devices")
	}
	private := told("hello, Ann")
	private.Room, private.Target = false, "bob"
	run(t, s)
	for _, test := range []struct {
		content Content
		notice  hall.Notice
		want    string
	}{
		{Everything, told("hello, ann"), told("").Head + "hello, ann"},
		{Everything, told(strings.Repeat("x", 5000)), told("").Head +
			strings.Repeat("x", maxText-len(told("").Head))},
		{Everything, told(""), told("").Head},
		{Who, told("hello, ann"), told("").Head + "(mentioned you)"},
		{Who, private, private.Head + "(wrote to you)"},
		{Nothing, private, ":chat NOTICE Ann :You were written to"},
	} {
		content.Store(test.content)
		s.Missed(test.notice)
		for _, d := range []*pushtest.Device{phone, laptop} {
			p := d.Next()
			if p.Text != test.want || p.Sender != s.PublicKey() ||
				p.Subject != "mailto:ann@example.org" || p.Urgency != "high" ||
				p.TTL != maxAge || p.Size != recordSize {
				t.Errorf("got %+v, want the text %q", p, test.want)
			}
		}
	}
	count.until(t, "sent", 12)
	if err := s.Unregister(t.Context(), "ann", phone.Endpoint); err != nil {
		t.Fatal(err)
	}
	removed := told("for nobody")
	removed.Online, removed.At = true, 77 // it waits for a while
	s.Missed(removed)
	s.Removed(77)
	left := make(chan int)
	s.events <- func(q *queue, _ time.Time) { left <- len(q.waiting) }
	if n := <-left; n > 0 {
		t.Error("a message that was removed still waits")
	}
	s.Missed(told("for the laptop"))
	laptop.Next()
	if phone.Waiting() > 0 {
		t.Error("a device that was unregistered is still notified")
	}
}

// TestAnswers: what a push service answers is understood, and no answer harms.
func TestAnswers(t *testing.T) {
	service := pushtest.New(t, true)
	s, count := open(t, &account.Memory{}, nil, service)
	run(t, s)
	var elsewhere atomic.Int32
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		result string
		stays  bool // the subscription
	}{
		"gone":      {status(http.StatusGone), "gone", false},
		"not found": {status(http.StatusNotFound), "gone", false},
		"too large": {status(http.StatusRequestEntityTooLarge), "refused", true},
		"forbidden": {status(http.StatusForbidden), "refused", true},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				elsewhere.Add(1)
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "refused", true},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, "refused", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := service.Device()
			register(t, s, "ann", d)
			service.Answer(test.answer)
			before := count.of(test.result)
			s.Missed(told(name))
			count.until(t, test.result, before+1)
			if stays := s.Wants("ann"); stays != test.stays {
				t.Errorf("the subscription stays: %v, want %v", stays, test.stays)
			}
			if err := s.Unregister(t.Context(), "ann", d.Endpoint); err != nil {
				t.Fatal(err)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// TestServiceThatHangs: nobody else waits for a push service that says nothing, or too much in its
// header, and what could not be sent is sent later.
func TestServiceThatHangs(t *testing.T) {
	hangs, busy, works := pushtest.New(t, true), pushtest.New(t, true), pushtest.New(t, true)
	s, _ := open(t, &account.Memory{}, nil, hangs, busy, works)
	entered := make(chan struct{}, 100)
	hangs.Answer(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see the end of a connection
		entered <- struct{}{}
		<-r.Context().Done()
	})
	busy.Answer(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	later, phone := busy.Device(), works.Device()
	register(t, s, "ann", hangs.Device())
	register(t, s, "ann", later)
	register(t, s, "ann", phone)
	run(t, s)
	s.Missed(told("one"))
	<-entered
	<-entered
	s.Missed(told("two"))
	for _, want := range []string{"one", "two"} {
		if got := phone.Next().Text; !strings.HasSuffix(got, " :"+want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	busy.Answer(nil)
	for _, want := range []string{"one", "two"} {
		if got := later.Next().Text; !strings.HasSuffix(got, " :"+want) {
			t.Errorf("later: got %q, want %q", got, want)
		}
	}
}

// isFenced says whether an error is that of the fence.
func isFenced(err error) bool {
	_, ok := errors.AsType[*fence.Error](err)
	return ok
}

// TestFence: no request goes into a network that is not open, whatever its name is.
func TestFence(t *testing.T) {
	service := pushtest.New(t, true)
	s, count := open(t, &account.Memory{}, func(o *Options) { o.Networks = nil }, service)
	d := service.Device()
	for _, endpoint := range []string{
		d.Endpoint, "https://127.0.0.1/x", "https://127.9.9.9:22/", "https://169.254.169.254/a",
		"https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://0.0.0.0/",
		"https://100.64.1.1/", "https://[::1]/", "https://[::]/", "https://[fe80::1%25lo]/",
		"https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://[::127.0.0.1]/",
		"https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://224.0.0.1/",
		"https://255.255.255.255/", "http://push.example.net/x", "http://127.0.0.1/x",
		"ftp://push.example.net/", "https://", "https:///x", "//push.example.net/x", "push", "",
		"https://user:word@push.example.net/x", "https://push.example.net/#x",
		"https://push.example.net/" + strings.Repeat("x", maxEndpoint), "https://a b/",
		"https://push.example.net:port/",
	} {
		var mistake Mistake
		if err := s.Register(t.Context(), "ann", endpoint, d.Keys()); !errors.As(err, &mistake) {
			t.Errorf("%q: %v, want a mistake", endpoint, err)
		} else if len(endpoint) > 12 && strings.Contains(mistake.Error(), endpoint) {
			t.Errorf("%q is shown", endpoint)
		}
	}
	// A name says nothing of its address before it is asked for.
	name := strings.Replace(d.Endpoint, "127.0.0.1", "localhost", 1)
	if err := s.Register(t.Context(), "ann", name, d.Keys()); err != nil {
		t.Fatal(err)
	}
	what, _, err := s.webPush(t.Context(), s.List("ann")[0], []byte("x"))
	if what != failed || !isFenced(err) || strings.Contains(err.Error(), "/push/") {
		t.Errorf("got %v, %v", what, err)
	}
	if service.Asked() > 0 {
		t.Error("the service was reached")
	}
	for _, good := range []string{"https://push.example.net/x?a=b", "https://1.1.1.1:8443/x",
		"https://[2606:4700:4700::1111]/x"} {
		if err := s.Register(t.Context(), "ann", good, d.Keys()); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if n := count.of("sent"); n > 0 {
		t.Errorf("%d pushes were sent", n)
	}
	s, _ = open(t, &account.Memory{}, nil, service)
	plain := strings.Replace(d.Endpoint, "https", "http", 1)
	if err := s.Register(t.Context(), "ann", plain, d.Keys()); err != nil {
		t.Errorf("http on this machine, which is open: %v", err)
	}
}

// TestThousandSubscriptions: an account has a bounded number, and another one does not notice.
func TestThousandSubscriptions(t *testing.T) {
	service := pushtest.New(t, true)
	s, _ := open(t, &account.Memory{}, nil, service)
	d := service.Device()
	taken := 0
	for n := range 1000 {
		switch err := s.Register(t.Context(), "eve", fmt.Sprint("https://push.example.net/", n),
			d.Keys()); {
		case err == nil:
			taken++
		case !errors.Is(err, ErrMany):
			t.Fatal(err)
		}
	}
	if taken != maxEach || len(s.List("eve")) != maxEach {
		t.Errorf("%d subscriptions were taken, %d are listed, want %d", taken, len(s.List("eve")),
			maxEach)
	}
	// Renewing one of them is no new one.
	if err := s.Register(t.Context(), "eve", "https://push.example.net/7", d.Keys()); err != nil {
		t.Error(err)
	}
	register(t, s, "ann", d)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "soon": 0, "1.5": 0, "99999999999": 0,
		"Thu, 26 Nov 2026 09:01:00 GMT": time.Minute, "Thu, 26 Nov 2026 08:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// FuzzParse: the parameters of WEBPUSH REGISTER are refused, or are those of a device that can be
// notified, and stay as they are when they are stored.
func FuzzParse(f *testing.F) {
	const keys = "p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZ" +
		"GH6SRpkNtoIAiw4;auth=BTBZMqHH6r4Tts7J_aSIgg"
	for _, seed := range [][2]string{
		{"https://push.example.net/x", keys}, {"https://push.example.net/x", keys + ";other=1"},
		{"https://[2001:db8::1]:8443/?a=b", keys + "=="}, {"http://127.0.0.1/x", keys},
		{"https://push.example.net/x", strings.ToUpper(keys)}, {"", ""},
		{"https://push.example.net/x", "p256dh=BA;auth="}, {"https://x", "p256dh;auth;=;;"},
		{"https://push.example.net/x", strings.Replace(keys, "_", "/", 1)},
		{"https://push.example.net/%zz", keys}, {"\x00", `p256dh=\r\n;auth=\s`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, endpoint, keys string) {
		one, err := parse("Ann", endpoint, keys, newFence(Options{}))
		if err != nil {
			if one != (Subscription{}) {
				t.Errorf("%+v and %v", one, err)
			}
			return
		}
		if !strings.HasPrefix(strings.ToLower(endpoint), "https://") || one.Account != "ann" ||
			len(endpoint) > maxEndpoint {
			t.Errorf("%q is taken: %+v", endpoint, one)
		}
		again, err := parse("ann", one.Endpoint, "p256dh="+one.P256dh+";auth="+one.Auth,
			newFence(Options{}))
		if err != nil || again != one {
			t.Errorf("%+v is read again as %+v, %v", one, again, err)
		}
	})
}

package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"interleave/papaya/account"
	"interleave/papaya/limit"
	"interleave/papaya/push/pushtest"
)

// page is the URL of the page in these tests.
const page = "https://chat.example/papaya"

// first is the first message to a topic.
var first = pushtest.Message{Title: "chat", Text: "Notifications will come here.", Click: page,
	Tags: "speech_balloon"}

// paged gives a service the URL of the page.
func paged(o *Options) { o.Page = page }

// addTopic has an account notified at a topic, and takes the topic's first message.
func addTopic(t *testing.T, s *Service, account string, topic *pushtest.Topic, token string) {
	t.Helper()
	if err := s.AddTopic(t.Context(), account, topic.URL, token); err != nil {
		t.Fatal(err)
	}
	if m := topic.Next(); m.Text != first.Text {
		t.Errorf("the first message is %+v", m)
	}
}

// isMistake fails the test if an error is none that the user may see, or shows the topic's URL.
func isMistake(t *testing.T, what string, err error, secret string) {
	t.Helper()
	if _, ok := errors.AsType[Mistake](err); !ok {
		t.Errorf("%s: %v, want a mistake", what, err)
	} else if secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("%s: the topic is shown: %v", what, err)
	}
}

// TestTopic: a topic of ntfy is told what the setting says, in its own form, and nothing more.
func TestTopic(t *testing.T) {
	service := pushtest.New(t, true)
	var content atomic.Value
	s, count := open(t, &account.Memory{}, func(o *Options) {
		o.Page, o.Content = page, func() Content { return content.Load().(Content) }
	}, service)
	topic := service.Topic("/below/tea_Time-1", "tk_secret")
	if err := s.AddTopic(t.Context(), "Ann", topic.URL, "tk_secret"); err != nil {
		t.Fatal(err)
	}
	if m := topic.Next(); m != first {
		t.Errorf("the first message is %+v", m)
	}
	run(t, s)
	private := told("the secret")
	private.Room, private.Target = false, "bob"
	private.Head = "@time=x :Bób|1!bob@host PRIVMSG ann :"
	odd := told("x")
	odd.Head = ":bob!b@h PRIVMSG #a/b?c=d&e+f%ü :"
	for _, test := range []struct {
		content           Content
		room              bool
		head, text        string
		title, want, link string
	}{
		{Everything, true, told("").Head, "ann: \x02the\x0f \x0304,5kettle\u202e", "bob in #tea",
			"ann: the kettle", "/#%23tea"},
		{Everything, true, told("").Head, "\x01ACTION waves at ann\x01", "bob in #tea",
			"bob waves at ann", "/#%23tea"},
		{Everything, false, private.Head, "the secret", "Bób|1", "the secret",
			"/?talk=B%C3%B3b%7C1"},
		{Everything, true, odd.Head, "x", "bob in #a/b?c=d&e+f%ü", "x",
			"/#%23a%2Fb%3Fc%3Dd%26e%2Bf%25%C3%BC"},
		{Everything, true, told("").Head, strings.Repeat("ü", 4000), "bob in #tea",
			strings.Repeat("ü", maxTopicText/2) + "…", "/#%23tea"},
		{Everything, true, told("").Head, "\x02 \x03", "bob in #tea", "(mentioned you)",
			"/#%23tea"},
		{Who, true, told("").Head, "the secret", "bob in #tea", "(mentioned you)", "/#%23tea"},
		{Who, false, private.Head, "the secret", "Bób|1", "(wrote to you)",
			"/?talk=B%C3%B3b%7C1"},
		{Nothing, true, told("").Head, "the secret", "chat", writtenTo, ""},
		{Nothing, false, private.Head, "the secret", "chat", writtenTo, ""},
	} {
		content.Store(test.content)
		n := told(test.text)
		n.Head, n.Room = test.head, test.room
		want := pushtest.Message{Title: test.title, Text: test.want, Click: page + test.link,
			Tags: "speech_balloon"}
		if !test.room && test.content != Nothing {
			want.Priority = "high"
		}
		s.Missed(n)
		if m := topic.Next(); m != want {
			t.Errorf("%s of %q:\ngot  %+v\nwant %+v", test.content, test.text, m, want)
		}
	}
	count.until(t, "sent", 10)
	s.Page = ""
	if m := s.messageOf(private, Everything); m.click != "" {
		t.Errorf("a server without a page links to %q", m.click)
	}
}

// TestTopicThatEnds: a topic is notified no more if its service does not know it or its token, and
// stays for all other reasons. No redirect is followed, with the token or without.
func TestTopicThatEnds(t *testing.T) {
	service, elsewhere := pushtest.New(t, true), pushtest.New(t, true)
	s, count := open(t, &account.Memory{}, paged, service, elsewhere)
	run(t, s)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		result string
		stays  bool
	}{
		"gone":         {status(http.StatusGone), "gone", false},
		"not found":    {status(http.StatusNotFound), "gone", false},
		"unauthorized": {status(http.StatusUnauthorized), "gone", false},
		"forbidden":    {status(http.StatusForbidden), "refused", true},
		"too large":    {status(http.StatusRequestEntityTooLarge), "refused", true},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/tea", http.StatusTemporaryRedirect)
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
			service.Answer(nil)
			topic := service.Topic("/"+strings.ReplaceAll(name, " ", "-"), "")
			addTopic(t, s, "ann", topic, "tk_1")
			service.Answer(test.answer)
			before := count.of(test.result)
			s.Missed(told(name))
			count.until(t, test.result, before+1)
			if stays := s.Wants("ann"); stays != test.stays {
				t.Errorf("the topic stays: %v, want %v", stays, test.stays)
			}
			if err := s.Unregister(t.Context(), "ann", topic.URL); err != nil {
				t.Fatal(err)
			}
		})
	}
	if elsewhere.Asked() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestTopicWaits: a topic that is limited or away for a moment is told later, and one that says
// nothing holds up nobody.
func TestTopicWaits(t *testing.T) {
	hangs, busy, works := pushtest.New(t, true), pushtest.New(t, true), pushtest.New(t, true)
	s, count := open(t, &account.Memory{}, nil, hangs, busy, works)
	slow, later, now := hangs.Topic("/tea", ""), busy.Topic("/tea", ""), works.Topic("/tea", "")
	for _, topic := range []*pushtest.Topic{slow, later, now} {
		addTopic(t, s, "ann", topic, "")
	}
	entered := make(chan struct{}, 100)
	hangs.Answer(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see the end of a connection
		entered <- struct{}{}
		<-r.Context().Done()
	})
	busy.Answer(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	run(t, s)
	s.Missed(told("one"))
	<-entered
	<-entered
	if m := now.Next(); m.Text != "one" {
		t.Errorf("got %+v", m)
	}
	busy.Answer(nil)
	if m := later.Next(); m.Text != "one" {
		t.Errorf("later: got %+v", m)
	}
	count.until(t, "sent", 2)
	if slow.Waiting() > 0 || len(s.List("ann")) != 3 {
		t.Errorf("the topics are %+v", s.List("ann"))
	}
}

// TestTopicThatIsNotAdded: a topic is added if it has taken its first message, and the user is told
// why not. Nothing is said of the server's own networks, and no request goes there.
func TestTopicThatIsNotAdded(t *testing.T) {
	service := pushtest.New(t, true)
	s, _ := open(t, &account.Memory{}, nil, service)
	topic := service.Topic("/tea", "tk_1")
	for what, test := range map[string]struct {
		token  string
		answer http.HandlerFunc
		want   string
	}{
		"no token":    {"", nil, "status 403"},
		"wrong token": {"tk_2", nil, "status 401"},
		"no topic":    {"tk_1", status(http.StatusNotFound), "status 404"},
		"redirect": {"tk_1", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "status 302"},
		"cut": {"tk_1", func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, "cannot be reached"},
		"header": {"tk_1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
		}, "cannot be reached"},
	} {
		service.Answer(test.answer)
		err := s.AddTopic(t.Context(), "ann", topic.URL, test.token)
		isMistake(t, what, err, "/tea")
		if !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	service.Answer(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stop()
		<-r.Context().Done()
	})
	if err := s.AddTopic(ctx, "ann", topic.URL, "tk_1"); err == nil {
		t.Error("a topic was added that says nothing")
	}
	service.Answer(nil)
	for _, token := range []string{"a b", "a\r\nX-Injected: 1", "tök", "\x00",
		strings.Repeat("x", maxToken+1)} {
		isMistake(t, token, s.AddTopic(t.Context(), "ann", topic.URL, token), "/tea")
	}
	for _, endpoint := range []string{"https://ntfy.example", "https://ntfy.example/", "ntfy/tea",
		"https://ntfy.example//", "http://ntfy.example/tea", "https://ann:word@ntfy.example/tea",
		"https://ntfy.example/tea#x", "https://10.0.0.1/tea", "https://[::ffff:10.0.0.1]/tea",
		"https://ntfy.example/" + strings.Repeat("x", maxEndpoint), "", "/tea"} {
		isMistake(t, endpoint, s.AddTopic(t.Context(), "ann", endpoint, ""), "")
	}
	if s.Wants("ann") {
		t.Errorf("the topics are %+v", s.List("ann"))
	}

	asked := service.Asked()
	s, _ = open(t, &account.Memory{}, func(o *Options) { o.Networks = nil }, service)
	isMistake(t, "address", s.AddTopic(t.Context(), "ann", topic.URL, "tk_1"), "/tea")
	name := strings.Replace(topic.URL, "127.0.0.1", "localhost", 1)
	within := s.AddTopic(t.Context(), "ann", name, "tk_1")
	isMistake(t, "name", within, "/tea")
	// A name that leads to a network of the server, and one that leads nowhere, look the same.
	if nowhere := s.AddTopic(t.Context(), "ann", "https://a..b/tea",
		""); fmt.Sprint(nowhere) != fmt.Sprint(within) {
		t.Errorf("%v\n%v", within, nowhere)
	}
	if s.Wants("ann") || service.Asked() > asked {
		t.Error("a request went where none may")
	}
}

// TestTopicOfAnother: nobody takes a topic from another account, by whatever command and at
// whichever server. Its own account changes the token. A topic does not expire.
func TestTopicOfAnother(t *testing.T) {
	service, store := pushtest.New(t, true), &account.Memory{}
	one, _ := open(t, store, nil, service)
	two, _ := open(t, store, nil, service)
	topic, phone := service.Topic("/tea", "tk_1"), service.Device()
	addTopic(t, one, "ann", topic, "tk_1")
	made := one.List("ann")[0].Made
	asked := service.Asked()
	for what, err := range map[string]error{
		"a topic":                 two.AddTopic(t.Context(), "bob", topic.URL, "tk_1"),
		"a topic, as a device":    two.Register(t.Context(), "bob", topic.URL, phone.Keys()),
		"the same, at its server": one.Register(t.Context(), "bob", topic.URL, phone.Keys()),
	} {
		if !errors.Is(err, ErrTaken) {
			t.Errorf("%s: %v, want %v", what, err, ErrTaken)
		}
	}
	register(t, one, "ann", phone)
	if err := two.AddTopic(t.Context(), "bob", phone.Endpoint, ""); !errors.Is(err, ErrTaken) {
		t.Errorf("a device, as a topic: %v", err)
	}
	if service.Asked() != asked {
		t.Error("a topic of another was asked")
	}
	topic.Token("tk_2")
	isMistake(t, "the old token", one.AddTopic(t.Context(), "ann", topic.URL, "tk_1"), "/tea")
	addTopic(t, two, "ann", topic, "tk_2")
	if err := one.book.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(one.List("ann"), func(d Subscription) bool { return d.Ntfy })
	if list := one.List("ann"); len(list) != 2 || i < 0 || list[i].Token != "tk_2" ||
		!list[i].Made.Equal(made) {
		t.Errorf("ann's devices are %+v", list)
	}
	later := time.Now().Add(2 * lifetime)
	b := &book{store: store, now: func() time.Time { return later }, logger: slog.New(
		slog.NewTextHandler(io.Discard, nil))}
	if err := errors.Join(b.load(t.Context()), b.expire(t.Context())); err != nil {
		t.Fatal(err)
	}
	if list := b.list("ann"); len(list) != 1 || !list[0].Ntfy {
		t.Errorf("what nobody has renewed: %+v is left", list)
	}
}

// TestTopicOfARemovedAccount: an account is removed while a topic of it is tried, so a later
// account of the name has none.
func TestTopicOfARemovedAccount(t *testing.T) {
	service := pushtest.New(t, true)
	s, _ := open(t, &account.Memory{}, nil, service)
	for _, path := range []string{"/new", "/known"} {
		topic := service.Topic(path, "")
		if path == "/known" {
			addTopic(t, s, "ann", topic, "")
		}
		asked := service.Asked()
		service.Answer(func(http.ResponseWriter, *http.Request) {
			if err := s.Forget(t.Context(), "ann"); err != nil {
				t.Error(err)
			}
		})
		err := s.AddTopic(t.Context(), "ann", topic.URL, "tk_1")
		service.Answer(nil)
		if s.Wants("ann") || service.Asked() != asked+1 {
			t.Errorf("%s: the account has %+v; %v", path, s.List("ann"), err)
		}
	}
}

// TestManyTopics: an account has a bounded number, and the requests by which it adds them are
// bounded, too.
func TestManyTopics(t *testing.T) {
	service := pushtest.New(t, true)
	s, _ := open(t, &account.Memory{}, nil, service)
	now := time.Now()
	s.topics = limit.NewRate(topicBurst, topicEvery, func() time.Time { return now })
	var err error
	for n := range topicBurst {
		addTopic(t, s, "eve", service.Topic(fmt.Sprint("/", n), ""), "")
	}
	asked := service.Asked()
	isMistake(t, "too many at once", s.AddTopic(t.Context(), "eve", service.URL+"/0", ""), "/0")
	if service.Asked() > asked {
		t.Error("a request was made")
	}
	for n := topicBurst; err == nil && n < 1000; n++ {
		now = now.Add(topicEvery)
		err = s.AddTopic(t.Context(), "eve", service.Topic(fmt.Sprint("/", n), "").URL, "")
	}
	if !errors.Is(err, ErrMany) || len(s.List("eve")) != maxEach {
		t.Errorf("%d topics, %v", len(s.List("eve")), err)
	}
	addTopic(t, s, "ann", service.Topic("/ann", ""), "")
}

// FuzzParseTopic: the parameters of NS PUSH ADD are refused, or are those of a topic that requests
// can be made to, and stay as they are when they are read again.
func FuzzParseTopic(f *testing.F) {
	for _, seed := range [][2]string{{"https://ntfy.example/tea", ""},
		{"https://ntfy.example/a/b?up=1", "tk_1"}, {"https://ntfy.example/", "a b"},
		{"https://[2001:db8::1]:8443/%2f", "~"}, {"http://127.0.0.1/x", "\r\n"}, {"", ""},
		{"https://ntfy.example/%zz", "ü"}, {"https://ntfy.example/ü\x7f", "x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, endpoint, token string) {
		one, err := parseTopic("Ann", endpoint, token, newFence(Options{}))
		if err != nil {
			if one != (Subscription{}) {
				t.Errorf("%+v and %v", one, err)
			}
			return
		}
		r, err := http.NewRequest(http.MethodPost, one.Endpoint, nil)
		if err != nil || r.URL.Scheme != "https" || r.URL.Host == "" || !one.Ntfy ||
			one.Account != "ann" || len(token) > maxToken {
			t.Errorf("%q and %q are taken: %+v, %v", endpoint, token, one, err)
		}
		again, err := parseTopic("ann", one.Endpoint, one.Token, newFence(Options{}))
		if err != nil || again != one {
			t.Errorf("%+v is read again as %+v, %v", one, again, err)
		}
	})
}

// FuzzShortened: a text is cut between two characters, and stays within its size.
func FuzzShortened(f *testing.F) {
	f.Add("kettle", 3)
	f.Add("tü", 2)
	f.Add("👩\u200d👧", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 0 || !utf8.ValidString(text) {
			return
		}
		got := shortened(text, most)
		if before, cut := strings.CutSuffix(got, "…"); got != text &&
			(!cut || len(before) > most || !strings.HasPrefix(text, before)) ||
			!utf8.ValidString(got) {
			t.Errorf("%q, cut to %d bytes, is %q", text, most, got)
		}
	})
}

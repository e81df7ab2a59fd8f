package push

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"interleave/papaya/fence"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// A topic of ntfy, or of a service that takes requests of the same form, is a subscription without
// keys: each message is a POST to its URL, with the text as the body and all else in the header
// (docs.ntfy.sh/publish). It is not encrypted for the device: the service can read it.

// maxToken is in bytes. Those of ntfy have 32.
const maxToken = 200

// maxTopicText is in bytes. A message of ntfy has at most 4096; the title takes some of an app's
// notification, which is shorter.
const maxTopicText = 2000

// Limits of adding topics, since each one added is a request that its user waits for. All are
// guesses.
const (
	topicBurst = 10 // of one account
	topicEvery = time.Minute
	topicTime  = 5 * time.Second
)

// ErrTaken reports a topic of another account.
var ErrTaken = Mistake{"another account is notified there already"}

// parseTopic parses the parameters of NS PUSH ADD: the URL of a topic, and its access token, which
// may be empty.
func parseTopic(account, endpoint, token string, f fence.Fence) (Subscription, error) {
	if err := check(endpoint, f); err != nil {
		return Subscription{}, err
	}
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return Subscription{}, Mistake{"the URL names no topic: expected one like " +
			"https://ntfy.example/topic"}
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool {
		return c <= ' ' || c > '~'
	}) {
		return Subscription{}, Mistake{fmt.Sprintf("expected an access token of at most %d "+
			"letters, digits and signs", maxToken)}
	}
	return Subscription{Account: irc.Lower(account), Endpoint: endpoint, Ntfy: true,
		Token: token}, nil
}

// AddTopic has an account notified at a topic of ntfy, or changes the topic's token. A first
// message shows that the topic takes them; otherwise nothing is added. The error may be a Mistake
// or ErrMany.
func (s *Service) AddTopic(ctx context.Context, account, endpoint, token string) error {
	one, err := parseTopic(account, endpoint, token, s.fence)
	if err != nil {
		return err
	}
	was, err := s.book.before(ctx, one)
	if err != nil {
		return err
	}
	if wait, ok := s.topics.Take(one.Account); !ok {
		return Mistake{fmt.Sprintf("too many topics were tried: try again in %v",
			max(wait.Round(time.Second), time.Second))}
	}
	// The account may be removed or renamed while the topic is tried, and another one may get its
	// name. What is stored then is removed or renamed with it, and nothing is stored afterwards.
	again := was.Record.Account != ""
	if !again {
		if one, err = s.book.put(ctx, one, false); err != nil {
			return err
		}
	}
	err = s.try(ctx, one)
	switch {
	case err != nil && !again:
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), topicTime)
		defer stop()
		if left := s.book.drop(ctx, one); left != nil {
			s.Logger.Warn("a topic that takes no messages could not be removed", "device",
				one.ID(), "reason", left)
		}
	case err == nil && again: // else it stays as it was
		_, err = s.book.put(ctx, one, true)
	}
	return err
}

// try sends the first message to a topic. A user is told the status of an answer, but not why there
// is none: that would tell of hosts in the server's own networks.
func (s *Service) try(ctx context.Context, one Subscription) error {
	ctx, stop := context.WithTimeout(ctx, topicTime)
	defer stop()
	what, _, err := s.publish(ctx, one, message{title: s.Server,
		text: "Notifications will come here.", click: s.Page})
	if what == delivered {
		return nil
	}
	s.Logger.Debug("a topic was not added", "device", one.ID(), "account", one.Account, "reason",
		err)
	if status, ok := errors.AsType[statusError](err); ok {
		return Mistake{fmt.Sprintf("the service does not take messages for the topic: it answers "+
			"with %v", status)}
	}
	return Mistake{"the service cannot be reached. If it is in a network of the server, the " +
		"setting " + s.fence.Setting + " must have its address"}
}

// A message is what a topic is told.
type message struct {
	title, text string
	click       string // the URL that a tap on it opens; may be empty
	urgent      bool
}

// messageOf returns what a topic is told of a notice.
func (s *Service) messageOf(n hall.Notice, c Content) message {
	m := message{title: s.Server, text: writtenTo, click: s.Page}
	line, err := irc.Parse(n.Head)
	if c == Nothing || err != nil {
		return m
	}
	nick, _, _ := irc.SplitMask(line.Source)
	where := "?talk=" + url.QueryEscape(nick)
	m.title, m.text, m.urgent = irc.Plain(nick), about(n), !n.Room
	if n.Room {
		m.title += " in " + irc.Plain(line.Param(0))
		where = "#" + url.QueryEscape(line.Param(0))
	}
	if s.Page != "" {
		m.click = strings.TrimSuffix(s.Page, "/") + "/" + where
	}
	if c == Who {
		return m
	}
	text := n.Text
	if does, ok := strings.CutPrefix(text, "\x01ACTION "); ok {
		text = nick + " " + does
	}
	if text = shortened(irc.Plain(text), maxTopicText); strings.TrimSpace(text) != "" {
		m.text = text
	}
	return m
}

// shortened cuts a text in UTF-8 to a number of bytes, and a mark that shows it.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// publish sends a message to a topic. wait is how long the service asks to wait.
func (s *Service) publish(ctx context.Context, topic Subscription,
	m message) (what outcome, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, topic.Endpoint,
		strings.NewReader(m.text))
	if err != nil {
		return refused, 0, unnamed(err)
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	r.Header.Set("Title", mime.BEncoding.Encode("utf-8", m.title)) // RFC 2047, as ntfy reads it
	r.Header.Set("Tags", "speech_balloon")                         // shown as an emoji
	if m.urgent {
		r.Header.Set("Priority", "high")
	}
	if m.click != "" {
		r.Header.Set("Click", m.click)
	}
	if topic.Token != "" {
		r.Header.Set("Authorization", "Bearer "+topic.Token)
	}
	a, err := s.client.Do(r)
	if err != nil {
		return failed, 0, unnamed(err)
	}
	what, wait, err = s.conclude(a)
	if a.StatusCode == http.StatusUnauthorized { // the token has ended, and will not be good again
		what = gone
	}
	return what, wait, err
}

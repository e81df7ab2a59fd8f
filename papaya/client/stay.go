package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"interleave/papaya/irc"
)

// A session that stays signed in asks for a token once it is ready, and Settings.Keep stores it.
// From then on the token is its password.

// askToken asks for a token for this device. It needs the password.
func (s *Session) askToken() {
	if s.settings.Keep != nil && s.authenticated {
		s.tokenAsked = true
		s.send("NS", "TOKEN STAY "+quoted(s.settings.Device)+" "+quoted(s.settings.Password))
	}
}

// quoted makes one word of a text for NickServ.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// The answers of NickServ to the question.
const (
	newToken   = "new token "
	aboutToken = "It logs in in the place of the password"
	notDone    = "Not done: "
)

// maxToken bounds a token in bytes.
const maxToken = 128

// tookToken says whether a notice of NickServ is the answer to askToken, which is not shown.
func (s *Session) tookToken(l line, text string) bool {
	if !s.tokenAsked || l.Source != "NickServ!NickServ@"+s.server {
		return false
	}
	token, is := strings.CutPrefix(text, newToken)
	switch {
	case is && isWord(token):
		s.keep(token)
	case strings.HasPrefix(text, aboutToken):
		s.tokenAsked = false
	case strings.HasPrefix(text, notDone):
		s.tokenAsked, s.settings.Keep = false, nil
		s.Note(s.active, Wrong, "This device does not stay signed in: "+
			strings.TrimPrefix(text, notDone))
	default:
		return false
	}
	return true
}

// isWord says whether a text may be a token.
func isWord(text string) bool {
	return text != "" && len(text) <= maxToken &&
		strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (s *Session) keep(token string) {
	err := s.settings.Keep(token)
	s.settings.Keep = nil
	if err != nil {
		s.Note(s.active, Wrong, "This device does not stay signed in: "+err.Error())
		return
	}
	s.settings.Password = token
	if s.settings.Former != "" {
		s.send("NS", "TOKEN DEL "+s.settings.Former)
	}
	s.Note(s.active, Happened, "This device stays signed in.")
}

// SignOut ends the token by which an account is signed in on this device.
func SignOut(ctx context.Context, dial Dialer, account, token string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := New(Settings{Nick: account, Account: account, Password: token})
	asked := false
	conn := &Conn{Dial: dial}
	conn.Tell = func(e any) {
		switch e := e.(type) {
		case Opened:
			s.Opened()
		case Line:
			s.Receive(e.Message)
			if asked {
				if done, err := s.tokenEnded(e.Message); done {
					stop(cmp.Or(err, errDone))
				}
			}
		case Lost:
			if asked { // the server has ended the session with its token
				stop(errDone)
				return
			}
			stop(fmt.Errorf("the connection was lost: %w", e.Err))
		}
		for _, e := range s.Events() {
			switch e.Kind {
			case Ready:
				asked = true
				s.Send("NS", "TOKEN DEL HERE")
			case Refused, Retry:
				stop(errors.New(e.Why))
			}
		}
		for _, m := range s.Out() {
			conn.Send(m)
		}
	}
	err := conn.Run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errDone) {
		return nil
	} else if cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

var errDone = errors.New("done")

// tokenEnded says whether a line is the answer to the end of a token, and whether that has failed.
func (s *Session) tokenEnded(m irc.Message) (done bool, err error) {
	text := line{Message: m}.Last()
	switch {
	case m.Command == irc.ERR_UNKNOWNCOMMAND:
		return true, errors.New("the server knows no tokens")
	case m.Command != "NOTICE" || m.Source != "NickServ!NickServ@"+s.server:
		return false, nil
	case !strings.HasSuffix(text, " ended."):
		return true, errors.New(text)
	}
	return true, nil
}

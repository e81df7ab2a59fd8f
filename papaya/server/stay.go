package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// A browser that stays signed in has its token in a cookie, which no script can read. The page gets
// it by POST of stay with the name and the password, opens its WebSocket with it, logs in by SASL
// EXTERNAL, and removes it by DELETE of stay. docs/papaya/clients.md says why.

// The names of the cookie. The prefixes are rules of browsers (RFC 6265bis, 4.1.3): only this host
// sets a cookie with the first one, for all paths, and both are sent over TLS only.
const (
	hostCookie   = "__Host-papaya"
	secureCookie = "__Secure-papaya" // below Config.Base
)

// longestCookie is what Chromium keeps at most, and RFC 6265bis asks for (5.5): 400 days.
const longestCookie = 400 * 24 * time.Hour

// maxToken is in bytes.
const maxToken = 128

// cookie returns the cookie with a token; an empty one removes it.
func (s *server) cookie(token string) *http.Cookie {
	c := &http.Cookie{Name: hostCookie, Value: token, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: -1}
	if s.config.Base != "" {
		c.Name, c.Path = secureCookie, s.config.Base+"/"
	}
	if token != "" {
		life := s.config.Stay.Life()
		if life == 0 || life > longestCookie {
			life = longestCookie
		}
		c.MaxAge = int(life / time.Second)
	}
	return c
}

// BrowserToken returns the token that a browser has, if the request is one of the server's own
// page: over TLS, and from the very origin of the request. A page elsewhere, also one of
// listen.origins or of the same site, uses nobody's token. base is Config.Base.
func BrowserToken(r *http.Request, base string) string {
	if !ownPage(r) {
		return ""
	}
	name := hostCookie
	if base != "" {
		name = secureCookie
	}
	// With two of them, one is of another host of the site.
	all := r.CookiesNamed(name)
	if len(all) != 1 || len(all[0].Value) > maxToken || strings.ContainsFunc(all[0].Value,
		func(c rune) bool {
			return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) {
		return ""
	}
	return all[0].Value
}

// ownPage says whether a request is encrypted and comes from the page of this server. Browsers name
// the origin of each WebSocket, and of each request that is no GET or HEAD.
func ownPage(r *http.Request) bool {
	return Encrypted(r) && strings.EqualFold(r.Header.Get("Origin"), "https://"+r.Host)
}

// stay keeps a browser signed in, or ends that.
func (s *server) stay(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), besideTime)
	defer cancel()
	status, err := http.StatusNoContent, error(nil)
	switch {
	case !Encrypted(r):
		status, err = http.StatusForbidden, errors.New("passwords need an encrypted connection")
	case !ownPage(r):
		status, err = http.StatusForbidden, errors.New("only the page of this server may do that")
	case r.Method == http.MethodPost:
		status, err = s.beginStay(ctx, w, r)
	case r.Method == http.MethodDelete:
		if err = s.config.Stay.End(ctx, BrowserToken(r, s.config.Base), remoteOf(r)); err != nil {
			status, err = s.stayFailed(err)
			break
		}
		http.SetCookie(w, s.cookie(""))
	default:
		w.Header().Set("Allow", "POST, DELETE")
		status, err = http.StatusMethodNotAllowed, errors.New("only POST and DELETE")
	}
	if err == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
	}{err.Error()}) // the browser has gone
}

func (s *server) beginStay(ctx context.Context, w http.ResponseWriter,
	r *http.Request) (status int, err error) {
	name, password, ok := r.BasicAuth()
	if !ok || len(password) > maxHeader {
		return http.StatusUnauthorized, ErrNotYours
	}
	token, err := s.config.Stay.Begin(ctx, name, password, deviceOf(r.UserAgent()),
		BrowserToken(r, s.config.Base), remoteOf(r))
	switch {
	case err == nil:
		http.SetCookie(w, s.cookie(token))
		return http.StatusNoContent, nil
	case errors.Is(err, ErrNotYours):
		return http.StatusUnauthorized, err
	case errors.Is(err, ErrNoToken):
		return http.StatusConflict, err
	}
	return s.stayFailed(err)
}

// stayFailed notes a failure of the server, of which the browser is told no more than that.
func (s *server) stayFailed(err error) (status int, told error) {
	s.config.Logger.Error("a device could not be signed in or out", "reason", err)
	return http.StatusServiceUnavailable, errors.New("that cannot be done at the moment")
}

// browsers and systems are words of the header User-Agent. The first that is there counts: most
// browsers claim to be those behind them, too.
var (
	browsers = [][2]string{{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Edg/", "Edge"},
		{"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"}, {"Vivaldi/", "Vivaldi"},
		{"SamsungBrowser/", "Samsung Internet"}, {"CriOS/", "Chrome"},
		{"HeadlessChrome/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems = [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"},
		{"Windows", "Windows"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"FreeBSD", "FreeBSD"},
		{"OpenBSD", "OpenBSD"}, {"Linux", "Linux"}}
)

// deviceOf names a browser by its header User-Agent: "Firefox on Linux". Nothing of the header
// itself is in the name.
func deviceOf(agent string) string {
	agent = agent[:min(len(agent), maxAgent)]
	name := "a browser"
	for _, b := range browsers {
		if strings.Contains(agent, b[0]) {
			name = b[1]
			break
		}
	}
	for _, s := range systems {
		if strings.Contains(agent, s[0]) {
			return name + " on " + s[1]
		}
	}
	return name
}

// maxAgent is in bytes: more is not looked at.
const maxAgent = 500

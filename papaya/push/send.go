package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"interleave/papaya/hall"
)

// recordSize is the size of each push in bytes, whatever it says: its length tells nothing. maxText
// is what it has room for: 86 bytes are its header, 16 the tag and one the padding (RFC 8188). A
// line of IRC with its tags is shorter.
const (
	recordSize = 2048
	maxText    = recordSize - 86 - 16 - 1
)

// send tells a device of a message. wait is how long the service asks to wait.
func (s *Service) send(ctx context.Context, device Subscription, n hall.Notice,
	c Content) (what outcome, wait time.Duration, err error) {
	if device.Ntfy {
		return s.publish(ctx, device, s.messageOf(n, c))
	}
	return s.webPush(ctx, device, line(n, c, s.Server))
}

// webPush sends one push by Web Push.
func (s *Service) webPush(ctx context.Context, device Subscription,
	text []byte) (what outcome, wait time.Duration, err error) {
	text = text[:min(len(text), maxText)]
	a, err := webpush.SendNotificationWithContext(ctx, text, device.target(), &webpush.Options{
		HTTPClient: s.client, RecordSize: recordSize, Subscriber: s.Contact,
		TTL: int(maxAge.Seconds()), Urgency: webpush.UrgencyHigh,
		VAPIDPublicKey: s.key.Public, VAPIDPrivateKey: s.key.Private})
	if err != nil {
		return failed, 0, unnamed(err)
	}
	return s.conclude(a)
}

// unnamed returns the cause of an error of a request, without the endpoint, which is a secret.
func unnamed(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// conclude ends a request with its answer.
func (s *Service) conclude(a *http.Response) (what outcome, wait time.Duration, err error) {
	defer a.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxAnswer)) // so that the connection is kept
	return judge(a, s.now())
}

// A statusError is the error of a request that was answered with another status than 2xx.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// judge says what the answer of a push service means (RFC 8030, section 5 and section 8.4).
func judge(a *http.Response, now time.Time) (what outcome, wait time.Duration, err error) {
	code := a.StatusCode
	if code/100 == 2 {
		return delivered, 0, nil
	}
	err = statusError(code)
	switch {
	case code == http.StatusNotFound, code == http.StatusGone:
		return gone, 0, err
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return failed, retryAfter(a.Header.Get("Retry-After"), now), err
	}
	return refused, 0, err
}

// retryAfter parses the header (RFC 9110 section 10.2.3): seconds or a date. It is 0 if there is
// none, or a wrong one.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

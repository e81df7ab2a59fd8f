package control

import (
	"log/slog"
	"strings"
	"testing"

	"interleave/papaya/account"
	"interleave/papaya/bot"
)

func TestTokens(t *testing.T) {
	var said strings.Builder
	tokens := bot.Open(&account.Memory{})
	c := start(t, t.TempDir(), &Server{Tokens: tokens,
		Logger: slog.New(slog.NewTextHandler(&said, nil))}).Tokens()
	ctx := t.Context()
	secret, made, err := c.Add(ctx, bot.Token{Kind: bot.Hook, Name: "github",
		Rooms: []string{"#dev"}, Send: true})
	if err != nil || made.Nick() != "github/hook" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if found, err := tokens.Find(ctx, secret); err != nil || found.ID != made.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if list, err := c.List(ctx); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("listed %+v, %v", list, err)
	}
	if _, _, err := c.Add(ctx, bot.Token{Kind: bot.Hook}); err == nil ||
		!strings.Contains(err.Error(), "expected a letter") {
		t.Errorf("one that is none: %v", err)
	}
	if err := c.Remove(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if err := c.Remove(ctx, made.ID); err == nil || err.Error() != bot.ErrUnknown.Error() {
		t.Errorf("removed twice: %v", err)
	}
	if strings.Contains(said.String(), secret.Reveal()) ||
		!strings.Contains(said.String(), "token add") {
		t.Errorf("the log is\n%s", said.String())
	}
	if _, err := start(t, t.TempDir(), &Server{Logger: slog.New(slog.DiscardHandler)}).Tokens().
		List(ctx); err == nil || err.Error() != "this server has no tokens" {
		t.Errorf("without tokens: %v", err)
	}
}

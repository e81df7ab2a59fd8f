package pushtest

import (
	"crypto/ecdh"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecrypt decrypts the example of RFC 8291 section 5, and refuses it with any byte changed.
func TestDecrypt(t *testing.T) {
	private, err := ecdh.P256().NewPrivateKey(decoded(t,
		"q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	auth := decoded(t, "BTBZMqHH6r4Tts7J_aSIgg")
	body := decoded(t, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"+
		"mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"+
		"pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	text, err := Decrypt(private, auth, body)
	if want := "When I grow up, I want to be a watermelon"; string(text) != want || err != nil {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
	for i := range body {
		if i >= saltSize && i < saltSize+4 { // the size of records is a bound only
			continue
		}
		body[i] ^= 1
		if text, err := Decrypt(private, auth, body); err == nil {
			t.Errorf("with byte %d changed it is %q", i, text)
		}
		body[i] ^= 1
	}
	for _, n := range []int{0, headerSize - 1, headerSize, headerSize + 65, len(body) - 1} {
		if text, err := Decrypt(private, auth, body[:n]); err == nil {
			t.Errorf("%d bytes of it are %q", n, text)
		}
	}
}

// TestVerify verifies the example of RFC 8292 section 2.4.
func TestVerify(t *testing.T) {
	const token = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5u" +
		"ZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxC" +
		"DquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
	const key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2" +
		"EmClBPs"
	const audience = "https://push.example.net"
	end := time.Unix(1453523768, 0)
	sender, subject, err := Verify("vapid t="+token+", k="+key, audience, end.Add(-time.Hour))
	if sender != key || subject != "mailto:push@example.com" || err != nil {
		t.Errorf("got %q, %q, %v", sender, subject, err)
	}
	for name, bad := range map[string]struct {
		header, audience string
		now              time.Time
	}{
		"another audience": {"vapid t=" + token + ", k=" + key, "https://a.example", end},
		"too late":         {"vapid t=" + token + ", k=" + key, audience, end},
		"too early":        {"vapid t=" + token + ", k=" + key, audience, end.Add(-25 * time.Hour)},
		"another scheme":   {"WebPush " + token, audience, end.Add(-time.Hour)},
		"no key":           {"vapid t=" + token, audience, end.Add(-time.Hour)},
		"another signature": {"vapid t=" + strings.Replace(token, ".i3", ".j3", 1) + ", k=" + key,
			audience, end.Add(-time.Hour)},
		"nothing": {"", audience, end.Add(-time.Hour)},
	} {
		if _, _, err := Verify(bad.header, bad.audience, bad.now); err == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

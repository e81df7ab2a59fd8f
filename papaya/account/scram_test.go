package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// TestScramOfTheRFC: the example of RFC 7677, section 3.
func TestScramOfTheRFC(t *testing.T) {
	salt, err := base.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := newScramKeys(NewSecret("pencil"), salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	const nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	s := &Scram{account: Account{Name: "user"}, keys: keys, known: true, header: "n,,",
		nonce: nonce, said: "n=user,r=rOprNGfwEbeRWgbNEkqO,r=" + nonce +
			",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"}
	const proof = ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
	const signature = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
	a, answer, err := s.finish("c=biws,r=" + nonce + proof)
	if err != nil || a.Name != "user" || answer != signature {
		t.Errorf("got %q, %q, %v", a.Name, answer, err)
	}
	for _, wrong := range []string{"", proof, "c=biws,r=" + nonce, "c=eSws,r=" + nonce + proof,
		"c=biws,r=" + nonce + "x" + proof, "c=biws,r=" + nonce + ",p=x",
		"c=biws,r=" + nonce + ",p=", "c=biws,r=" + nonce + ",x=y" + proof,
		"c=biws,r=" + nonce + strings.Replace(proof, "d", "e", 1)} {
		if _, answer, err := s.finish(wrong); !errors.Is(err, ErrWrong) || answer != "" {
			t.Errorf("%q: %q, %v", wrong, answer, err)
		}
	}
}

// scramPasses of the tests: few, so that they are quick.
const fewPasses = 3

// prove is a client: it answers the server's first message.
func prove(first, challenge string, password Secret) (string, error) {
	return (&ScramClient{Password: password}).Answer(first, challenge)
}

// login logs in by SCRAM.
func (b *Book) loginByScram(ctx context.Context, from netip.Addr, first string,
	password Secret) (Account, error) {
	s, challenge, err := b.BeginScram(ctx, from, first)
	if err != nil {
		return Account{}, err
	}
	final, err := prove(first, challenge, password)
	if err != nil {
		return Account{}, err
	}
	a, answer, err := s.Finish(final)
	if (err == nil) != strings.HasPrefix(answer, "v=") {
		return a, fmt.Errorf("the answer is %q, %w", answer, err)
	}
	return a, err
}

func newScramBook(t *testing.T) *Book {
	t.Helper()
	b, _, _ := newBook(t)
	b.Scram, b.scramPasses = true, fewPasses
	if err := b.SetPassword(t.Context(), "ann", right); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScram(t *testing.T) {
	b := newScramBook(t)
	for _, first := range []string{"n,,n=ann,r=x", "y,,n=Ann,r=abc+/=", "n,a=ANN,n=ann,r=x"} {
		a, err := b.loginByScram(t.Context(), here, first, right)
		if err != nil || a.Name != "Ann" || a.Role != Admin {
			t.Errorf("%q: %+v, %v", first, a, err)
		}
	}
	for _, first := range []string{"", "n,,n=ann", "n,,n=ann,r=", "p=tls-unique,,n=ann,r=x",
		"n,a=bob,n=ann,r=x", "n,a=,n=ann,r=x", "n,x,n=ann,r=x", "n,,n=,r=x", "n,,n=a=nn,r=x",
		"n,,m=1,n=ann,r=x", "n,,n=ann,r=x,e=f", "n,,n=ann,r=\xe9", "n,,n=ann,r=a b",
		"n,,n=ann,r=" + strings.Repeat("r", maxNonce+1), "n,,n=eve,r=x", "n,,n=an=2Cn,r=x"} {
		if _, err := b.loginByScram(t.Context(), there, first, right); !errors.Is(err, ErrWrong) &&
			!errors.As(err, new(*LimitError)) {
			t.Errorf("%q: %v", first, err)
		}
	}
}

// TestScramFailures: a wrong password fails and counts as a failed login, and so does a login that
// is not finished. A right one does not count, and a proof serves once.
func TestScramFailures(t *testing.T) {
	b := newScramBook(t)
	const first = "n,,n=ann,r=x"
	for range addressBurst + 1 {
		if _, err := b.loginByScram(t.Context(), here, first, right); err != nil {
			t.Fatal(err)
		}
	}
	s, challenge, err := b.BeginScram(t.Context(), here, first)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := prove(first, challenge, right)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Finish(proof); err != nil {
		t.Fatal(err)
	}
	for n := range addressBurst {
		s, _, err := b.BeginScram(t.Context(), here, first)
		if err != nil {
			t.Fatalf("after %d failures: %v", n, err)
		}
		answer := proof
		if n == 0 {
			answer = "" // the client does not go on
		}
		if _, _, err := s.Finish(answer); !errors.Is(err, ErrWrong) {
			t.Errorf("another login's proof: %v", err)
		}
	}
	if _, err := b.loginByScram(t.Context(), here, first, right); !errors.As(err,
		new(*LimitError)) {
		t.Errorf("after too many failures: %v", err)
	}
}

// TestScramDoesNotTellNames: a name that does not exist, or has no keys, gets an answer like that
// of an account, with the same salt each time and from each book of the store.
func TestScramDoesNotTellNames(t *testing.T) {
	b := newScramBook(t)
	if err := b.Add(t.Context(), "bot", Member, Secret{}); err != nil {
		t.Fatal(err)
	}
	other := open(b.store, cheap, b.now)
	other.Scram, other.scramPasses = true, fewPasses
	salts := map[string]string{}
	for round := range 2 {
		for i, name := range []string{"ann", "Nobody", "nobody2", "bot"} {
			from := netip.AddrFrom4([4]byte{192, 0, byte(round), byte(i)})
			for _, book := range []*Book{b, other} {
				_, challenge, err := book.BeginScram(t.Context(), from, "n,,n="+name+",r=x")
				if err != nil {
					t.Fatal(err)
				}
				_, salt, _ := strings.Cut(challenge, ",s=")
				if before := salts[name]; before != "" && before != salt {
					t.Errorf("%s: first %s, then %s", name, before, salt)
				}
				salts[name] = salt
			}
		}
	}
	if len(salts["ann"]) != len(salts["Nobody"]) || salts["Nobody"] == salts["nobody2"] ||
		!strings.HasSuffix(salts["bot"], fmt.Sprint(",i=", fewPasses)) {
		t.Errorf("the salts are %v", salts)
	}
}

// TestScramKeysComeAndGo: a login by password stores keys for SCRAM if it is offered, and removes
// them otherwise. A password beyond ASCII, or none, has no keys.
func TestScramKeysComeAndGo(t *testing.T) {
	b, _, _ := newBook(t)
	b.scramPasses = fewPasses
	kept := func(name string) bool {
		t.Helper()
		r, err := b.get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Scram == "" {
			return false
		}
		k, err := parseScramKeys(r.Scram)
		return err == nil && k.passes == fewPasses
	}
	login := func(name string, password Secret) {
		t.Helper()
		if _, err := b.Login(t.Context(), here, name, password); err != nil {
			t.Fatal(err)
		}
	}
	for _, offered := range []bool{false, true, false, true} {
		b.Scram = offered
		login("ann", right)
		if kept("ann") != offered {
			t.Errorf("offered %v, and keys are kept: %v", offered, !offered)
		}
	}
	beyond := NewSecret("der Tee ist heiß")
	if err := b.SetPassword(t.Context(), "ann", beyond); err != nil {
		t.Fatal(err)
	}
	login("ann", beyond)
	if kept("ann") {
		t.Error("keys are kept of a password beyond ASCII")
	}
	for _, password := range []Secret{right, {}} {
		if err := b.SetPassword(t.Context(), "ann", password); err != nil {
			t.Fatal(err)
		}
		if kept("ann") != (password != Secret{}) {
			t.Errorf("keys of the password %q", password.text)
		}
	}
}

func FuzzScram(f *testing.F) {
	for _, seed := range []string{"n,,n=ann,r=x", "y,a=a=2Cb,n=a=2Cb,r=x", "n,a==3D,n==3D,r=x",
		scramKeys{4096, make([]byte, saltLen), make([]byte, 32), make([]byte, 32)}.String(),
		"SCRAM-SHA-256$1:$:", "c=biws,r=x,p=AAAA", "r=xy,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if first, err := parseScramFirst(text); err == nil &&
			(first.header+first.bare != text || first.name == "" || !isNonce(first.nonce)) {
			t.Errorf("%q is read as %+v", text, first)
		}
		if k, err := parseScramKeys(text); err == nil && k.String() != text {
			t.Errorf("%q are %q", text, k)
		}
		s := &Scram{nonce: "x", header: "n,,", keys: scramKeys{stored: make([]byte, 32)},
			known: true}
		if _, _, err := s.finish(text); err == nil {
			t.Errorf("%q is a proof", text)
		}
		if _, _, passes, err := parseChallenge(text); err == nil && passes < 1 {
			t.Errorf("%q has %d passes", text, passes)
		}
	})
}

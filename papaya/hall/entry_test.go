package hall

import (
	"bytes"
	"reflect"
	"testing"
)

func TestBatchesComeBackAsTheyWere(t *testing.T) {
	batch := Batch{Server: "a", Run: -5, Number: 7, Time: 1 << 40}
	entries := []Entry{{Client: 1, Kind: Said, Data: []byte("JOIN #tea")},
		{Client: 1 << 60, Kind: End, Data: []byte{}}, {Kind: Gone, Data: []byte("b 1")}}
	data := AppendBatch(nil, batch)
	for _, e := range entries {
		data = AppendEntry(data, e)
	}
	got, rest, err := ReadBatch(data)
	if err != nil || got != batch {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, want := range entries {
		var e Entry
		if e, rest, err = ReadEntry(rest); err != nil || !reflect.DeepEqual(e, want) {
			t.Fatalf("got %+v, %v; want %+v", e, err, want)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	for n := range len(data) {
		_, rest, err := ReadBatch(data[:n])
		for err == nil && len(rest) > 0 {
			_, rest, err = ReadEntry(rest)
		}
		if whole := n == len(AppendBatch(nil, batch)); err == nil && !whole && n < len(data)-5 &&
			n < len(AppendEntry(AppendBatch(nil, batch), entries[0])) {
			t.Errorf("%d bytes of it are read as a batch", n)
		}
	}
}

func FuzzReadBatch(f *testing.F) {
	f.Add(AppendEntry(AppendBatch(nil, Batch{"a", 1, 2, 3, 0}), Entry{Client: 4, Kind: Said,
		Data: []byte("PING")}))
	// two connections of one account, and a guest
	for _, old := range []byte{0, 6, 5, 4, fewFormat, bareFormat, apartFormat} {
		data := AppendBatch(nil, Batch{"a", 1, 2, 3, old})
		add := func(id uint64, kind byte, words string) {
			data = AppendEntry(data, Entry{Client: id, Kind: kind, Data: []byte(words)})
		}
		for id, words := range []string{"eve\neve\nhost\nEve\n\n-", "ann\nann\nhost\nAnn\nann\n+",
			"anna\nann\nhost\nAnn\nAnn\n-\na"} {
			add(uint64(id), Enter, words)
			add(uint64(id), Said, "JOIN #tea")
		}
		add(0, Account, "ann\no")
		add(1, Lines, "@+x=y PRIVMSG #tea :one\n-two\n+and more")
		add(1, Said, "@+x=y PRIVMSG #tea :three")
		add(1, Edit, "0 1 0 \n@+x=y PRIVMSG #tea :else\n-and more")
		add(1, Edit, "0 1 9 @\nNOTICE #tea :\x01ACTION waves\x01")
		add(1, Edit, "0 1 0 \nPRIVMSG gil :else")
		add(1, Redact, "#tea\n0 60 1 0\nwhy")
		add(1, Redact, "#tea\n0 60 1 0 70+90 1+x papaya/preview\nwhy")
		add(9, Order, "preview\n#tea\nann!ann@host\nann\n0\n1\n{}")
		add(1, Founder, "TRANSFER\n#tea\nann")
		add(1, Founder, "DROP\n#tea\n")
		add(1, Said, "MODE #tea +eIq ~a:ann ~a:* bob")
		add(1, Said, "MODE #tea +CM-n")
		add(1, Said, "MODE ann +BRTw")
		add(1, Said, "PRIVMSG @#tea,+#tea :for some")
		add(1, Said, "@+x=y;+draft/persist TAGMSG #tea,@#tea,ann")
		add(1, Said, "METADATA * SET color :red")
		add(3, Enter, "gil\ngil\nhost\nGil\n\n-\n\n\ncolor red\nbad key\n")
		add(1, Said, "NICK eve")
		add(2, End, "+\nbye")
		add(1, Order, "forget\nann\nremoved")
		f.Add(data)
	}
	f.Add([]byte{1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, rest, err := ReadBatch(data)
		if err != nil {
			return
		}
		h := New(Config{Name: "chat", Server: "a", Text: noText{},
			Password: func() (string, bool) { return "", false }}, 0)
		if !h.Begin(b) {
			return
		}
		again := AppendBatch(nil, b)
		for len(rest) > 0 {
			var e Entry
			if e, rest, err = ReadEntry(rest); err != nil {
				return
			}
			again = AppendEntry(again, e)
			h.Apply(e, nil, "") // bytes of another server must not break this one
		}
		if b2, _, err := ReadBatch(again); err != nil || b2 != b {
			t.Fatalf("%+v comes back as %+v, %v", b, b2, err)
		}
		if state, err := h.Save(); err != nil {
			t.Fatal(err)
		} else if l, err := Load(h.config, state); err != nil {
			t.Fatal(err)
		} else if state2, err := l.Save(); err != nil || !bytes.Equal(state, state2) {
			t.Fatalf("the state changes when it is loaded: %s, %s, %v", state, state2, err)
		}
	})
}

// noText is an empty text.
type noText struct{}

func (noText) ReadAt([]byte, uint64) (int, error) { return 0, ErrBatch }
func (noText) Begin() uint64                      { return 0 }

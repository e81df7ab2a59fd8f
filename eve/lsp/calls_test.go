package lsp

import (
	"fmt"
	"testing"
)

// uses of functions in two files: one program, whose module has a type with a method.
var calling = map[string]string{
	"main.eve": "import shop\n\nmain: () void:\n    shop.$1sell(1)\n    @ []: shop.sell(2)\n" +
		"test \"sells\":\n    shop.sell(3)\n",
	"shop.eve": "pub type till:\n    n: int\n    add: [+self] (self, k: int) void: self.n += k\n" +
		"half: (n: int) int: return n / 2\n" +
		"pub sell: (n: int) void:\n    t: till\n    t.add(half(n))\n    t.add(1)\n",
}

func TestCalls(t *testing.T) {
	files := map[string]string{}
	places := map[string]position{}
	for name, text := range calling {
		text, marks := marked(text)
		files[name] = text
		for m, p := range marks {
			places[m] = p
		}
	}
	dir := write(t, files)
	c := open(t, dir)
	uri := uriOf(dir + "/main.eve")
	c.didOpen(uri, files["main.eve"])

	var items []callItem
	c.must("textDocument/prepareCallHierarchy", at(uri, places["$1"]), &items)
	if len(items) != 1 || items[0].Name != "sell" || items[0].Detail != "(n: int) void" ||
		items[0].URI != uriOf(dir+"/shop.eve") || items[0].SelectionRange.Start.Line != 4 {
		t.Fatalf("got %+v", items)
	}
	sell := map[string]any{"item": items[0]}

	var incoming []incomingCall
	c.must("callHierarchy/incomingCalls", sell, &incoming)
	got := ""
	for _, i := range incoming {
		got += fmt.Sprintf("%s %d, ", i.From.Name, len(i.FromRanges))
	}
	if want := "main 2, test \"sells\" 1, "; got != want {
		t.Errorf("sell is called by %s, want %s", got, want)
	}

	var outgoing []outgoingCall
	c.must("callHierarchy/outgoingCalls", sell, &outgoing)
	got = ""
	for _, o := range outgoing {
		got += fmt.Sprintf("%s %d, ", o.To.Name, len(o.FromRanges))
	}
	if want := "till.add 2, half 1, "; got != want {
		t.Errorf("sell calls %s, want %s", got, want)
	}

	// A function that has gone, and a place without one.
	gone := items[0]
	gone.SelectionRange.Start = position{0, 0}
	c.must("callHierarchy/incomingCalls", map[string]any{"item": gone}, &incoming)
	gone.URI = uriOf(dir + "/none.eve")
	c.must("callHierarchy/outgoingCalls", map[string]any{"item": gone}, &outgoing)
	if len(incoming)+len(outgoing) > 0 {
		t.Errorf("what has gone has the calls %+v and %+v", incoming, outgoing)
	}
	var none []callItem
	if c.must("textDocument/prepareCallHierarchy", at(uri, position{0, 0}), &none); none != nil {
		t.Errorf("a keyword: got %+v", none)
	}
}

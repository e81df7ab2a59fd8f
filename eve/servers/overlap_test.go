package servers_test

import (
	"strings"
	"testing"
)

// Handlers overlap as far as their lists allow: both are in `meet` at once, or it returns 0 and
// the program fails.
func TestHandlersOverlap(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"two that read the emitter": `
    j: job@
    on j poke [j]: assert meet(2) == 1
    @ [+j]:
        j.go()
        j.go()
`,
		"two that only have its handle": `
    j: job@
    on j poke [-j]: assert meet(2) == 1
    @ [+j]:
        j.go()
        j.go()
`,
		"one beside a task that changes the emitter": `
    j: job@
    on j poke [-j]: assert meet(2) == 1
    @ [+j]:
        j.go()
        assert meet(2) == 1
`,
		"one beside a task that reads the emitter": `
    j: job@
    on j poke [j]: assert meet(2) == 1
    @ [+j]: j.go()
    @ [j]: assert meet(2) == 1
`,
		"different emitters": `
    j, k: job@
    on j poke: assert meet(2) == 1
    on k poke: assert meet(2) == 1
    @ [+j, +k]:
        j.go()
        k.go()
`,
		"different events of one emitter": `
    j: job@
    on j poke [j]: assert meet(2) == 1
    on j prod [-j]: assert meet(2) == 1
    @ [+j]:
        j.go()
        j.go_on()
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := meeting + job + "main: () void:" + body
			exe := compiled(t, "overlap.eve", text)
			for range 20 {
				p := start(t, exe, "EVE_WORKERS=2")
				p.mustExit(0)
			}
		})
	}
}

const job = `type poke:
type prod:
type job: emitter<poke, prod>
    n: int
    go: [+self] (self) void: emit poke()
    go_on: [+self] (self) void: emit prod()
`

// Handlers of which one may change a shared object are never under way together.
func TestHandlersTakeTurns(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"of one event":        "    on j poke: once()\n",
		"one that changes it": "    on j poke [+j]: once()\n    on j prod [j]: once()\n",
		"by what they list": "    total: int@\n    on j poke [j, +total]: once()\n    on j " +
			"prod [-j, total]: once()\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := meeting + job + "once: () void:\n    enter()\n    assert leave() == 1\nmain: () void:\n    j: job@\n" + body + `    @ [+j]:
        for (i in 0..50):
            j.go()
            j.go_on()
`
			p := start(t, compiled(t, "turns.eve", text), "EVE_WORKERS=4")
			p.mustExit(0)
		})
	}
}

// The entry for the client in the lists of its handlers decides which of them overlap.
func TestSocketHandlersOverlap(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string][2]string{
		"both read the client":              {"client", "client"},
		"a task that changes it beside one": {"-client", "+client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := meeting + `import io.socket.*
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) bool:
            client: socket@ = c()
            on client line [HANDLER]:
                if line.text == "task":
                    @ [TASK]: assert meet(2) == 1
                else:
                    assert meet(2) == 1
                    @ [+client]: client.write("met\n")
            return true
`
			text = strings.NewReplacer("HANDLER", lists[0], "TASK", lists[1]).Replace(text)
			p := start(t, compiled(t, "overlap.eve", withImportFirst(text)), "EVE_WORKERS=2")
			client := p.dial(p.port())
			client.say("task\nhandler\n")
			client.mustHear("met\n")
			p.mustRun()
		})
	}
}

// Two clients of the paper's Program 2 are served at once: their handlers only read the set of all
// clients. Both have been served once before, so that both are in the set.
func TestClientsOverlap(t *testing.T) {
	t.Parallel()
	program := strings.Replace(exampleText(t, "broadcast"), "@ for",
		"if message.size() == 3: assert meet(2) == 1\n              @ for", 1)
	p := start(t, compiled(t, "broadcast.eve", withImportFirst(meeting+program)), "EVE_WORKERS=2")
	port := p.port()
	one := p.dial(port)
	one.say("hi")
	one.mustHear("hi")
	two := p.dial(port)
	two.say("hi")
	one.mustHear("hi")
	two.mustHear("hi")
	one.say("one")
	two.say("two")
	for _, c := range []peer{one, two} {
		if got := c.hear(6); got != "onetwo" && got != "twoone" {
			t.Errorf("heard %q", got)
		}
	}
}

// withImportFirst moves the imports of a text to its head.
func withImportFirst(text string) string {
	var imports, rest strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "import ") {
			imports.WriteString(line)
		} else {
			rest.WriteString(line)
		}
	}
	return imports.String() + rest.String()
}

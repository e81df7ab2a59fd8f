package interp_test

import (
	"testing"

	"interleave/eve/trial"
)

// Programs that talk to themselves: they listen, connect, and print the bytes that their clients
// read.
var talks = []struct{ name, text, want string }{
	{"echo", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [-server] (c: connection&) bool:
        client: socket@ = c()
        on client data:
            client.write_buffer(client.read_buffer())
        on client close [-server, -client]: stop(server)
        return true
    answer <- tcp_socket.connect("127.0.0.1", 8080) [+stdout]
    match answer:
        ok(s):
            got: bytes@
            @ [+s]:
                s.write("hello %d", 42)
                s.close_write()
            on s data [+got]: got.append(s.read_buffer())
            on s close [got, +stdout]: stdout.write("%s\n", got)
        error(e): stdout.write("%s\n", e.text())
stop: (server: tcp_socket@) void:
    @ [+server]: server.close()
`, "hello 42\n"},
	{"nobody listens", `import io.socket.*
main: () void:
    answer <- tcp_socket.connect("127.0.0.1", 9) [+stdout]
    match answer:
        ok(s): stdout.write("connected\n")
        error(e): stdout.write("%d %s\n", e.code(), e.text())
`, "111 cannot connect to 127.0.0.1:9: Connection refused\n"},
	{"counter", `import io.socket.*
counter: int@ = 0
serve: (client: socket@) void:
    on client data:
        ops: bytes = client.read_buffer()
        for (op: char in ops):
            if op == '+':
                @ [+counter, +client]:
                    counter += 1
                    client.write("%d\n", counter)
            else:
                @ [counter, +client]: client.write("%d\n", counter)
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    left: int@ = 3
    on server connection = [-server, -left] (c: connection&) bool:
        client: socket@ = c()
        serve(client)
        on client close [+left, -server]:
            left -= 1
            if left == 0:
                @ [+server, counter, +stdout]:
                    server.close()
                    stdout.write("%d in all\n", counter)
        return true
    for (i in 0..3): ask(i)
ask: (n: int) void:
    answer <- tcp_socket.connect("127.0.0.1", 8080) [=n, +stdout]
    match answer:
        ok(s):
            lines: vector<string>@
            @ [+s]:
                s.write("+?+")
                s.close_write()
            on s line [+lines]: lines.push(line.text)
            on s close [lines, =n, +stdout]:
                stdout.write("client %d: %d lines, first is read again: %v\n", n, lines.size(), lines[0] <= lines[1])
        error(e): stdout.write("%s\n", e.text())
`, `6 in all
client 0: 3 lines, first is read again: true
client 1: 3 lines, first is read again: true
client 2: 3 lines, first is read again: true
`},
	{"broadcast", `import io.socket.*
main: () void:
    clients: set<socket@>@
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [+clients, -server] (c: connection&) bool:
        client: socket@ = c()
        clients.insert(client)
        on client line [clients]:
            message: bytes@ = line.text + "\n"
            @ for (c: socket@ in clients) [message, +c]:
                c.write_buffer(message)
        on client close [+clients, -server, -client]:
            clients.remove(client)
            if clients.empty():
                @ [+server]: server.close()
        if clients.size() == 3:
            @ for (c: socket@ in clients) [+c]: c.write("go\n")
        return true
    for (i in 0..3): join_in(i)
join_in: (n: int) void:
    answer <- tcp_socket.connect("127.0.0.1", 8080) [=n, +stdout]
    match answer:
        ok(s):
            heard: vector<string>@
            on s line [+heard, =n]:
                heard.push(line.text)
                if line.text == "go": s.write("I am %d\n", n)
                if heard.size() == 4: s.close()
            on s close [+heard, =n, +stdout]:
                heard.sort()
                stdout.write("%d heard %v\n", n, heard)
        error(e): stdout.write("%s\n", e.text())
`, `0 heard [I am 0, I am 1, I am 2, go]
1 heard [I am 0, I am 1, I am 2, go]
2 heard [I am 0, I am 1, I am 2, go]
`},
	{"rooms", `import io.socket.*
type room:
    members: set<socket@>
rooms: map<string, room@>@
enter: (client: socket@, r: room@) void:
    @ [+r, +client]:
        r.members.insert(client)
        client.write("in\n")
    on client line [r]:
        text: string@ = line.text
        @ for (m: socket@ in r.members) [text, +m]: m.write("%s\n", text)
    on client close [+r, -client]: r.members.remove(client)
join: (client: socket@) void:
    on client line [+rooms]:
        client.off()
        enter(client, rooms.get_or_add(line.text))
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080, max = 2)
    on server connection = [-server] (c: connection&) bool:
        client: socket@ = c()
        join(client)
        return true
    visit("red", server)
    visit("blue", server)
    visit("green", server)
visit: (name: string, server: tcp_socket@) void:
    answer <- tcp_socket.connect("127.0.0.1", 8080) [=name, +stdout, -server]
    match answer:
        ok(s):
            @ [+s, =name]: s.write("%s\n", name)
            on s line [=name, +stdout, -server]:
                if line.text == "in":
                    s.write("hello %s\n", name)
                else:
                    stdout.write("%s\n", line.text)
                    s.close()
        error(e): stdout.write("%s\n", e.text())
    _ <- sleep(1s) [-server]
    @ [+server]: server.close()
`, "hello blue\nhello green\nhello red\n"},
	{"overflow", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [+stdout, -server] (c: connection&) bool:
        client: socket@ = c()
        @ [+client]:
            client.limit(1000)
            client.write("x".repeat(5000))
        on client overflow [+stdout]: stdout.write("overflow\n")
        on client drained [+stdout, -server]:
            stdout.write("drained %d\n", client.pending())
            client.close()
            @ [+server]: server.close()
        return true
    answer <- tcp_socket.connect("127.0.0.1", 8080) [+stdout]
    match answer:
        ok(s):
            n: int@
            on s data [+n]: n += s.read_buffer().size()
            on s close [n, +stdout]: stdout.write("read %d\n", n)
        error(e): stdout.write("%s\n", e.text())
`, "drained 0\noverflow\nread 5000\n"},
	{"failing handler", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [-server] (c: connection&) bool:
        client: socket@ = c()
        on client data:
            came: bytes = client.read_buffer()
            client.write("bye\n")
            assert came.size() == 0, "no data wanted"
        on client error [+stdout]: stdout.write("%s\n", error.text())
        on client close [-server, -client, +stdout]:
            stdout.write("closed\n")
            @ [+server]: server.close()
        return true
    answer <- tcp_socket.connect("127.0.0.1", 8080) [+stdout]
    match answer:
        ok(s):
            @ [+s]: s.write("x")
            on s line [+stdout]: stdout.write("got %s\n", line.text)
        error(e): stdout.write("%s\n", e.text())
`, "closed\ngot bye\ntalk.eve:9: assertion failed: came.size() == 0: no data wanted\n"},
	{"answer behind the end", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [-server] (c: connection&) bool:
        client: socket@ = c()
        said: string@
        on client data [+said]: said += client.read_buffer().text()
        on client ended [said]:
            all: string = said
            _ <- sleep(10ms) [+client, =all]
            client.write("you said %s\n", all)
            client.close()
        on client close [-server]:
            @ [+server]: server.close()
        return true
    answer <- tcp_socket.connect("127.0.0.1", 8080) [+stdout]
    match answer:
        ok(s):
            on s line [+stdout]: stdout.write("%s\n", line.text)
            @ [+s]:
                s.write("hello")
                s.close_write()
        error(e): stdout.write("%s\n", e.text())
`, "you said hello\n"},
	{"clock", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(8080)
    on server connection = [-server] (c: connection&) bool:
        client: socket@ = c()
        @ [+client]: client.every(10ms)
        on client fired [-server]:
            client.write("tick %d %d\n", fired.count, fired.number)
            if fired.number == 2:
                client.off()
                client.every(1ms)
                on client fired:
                    if fired.number == 3:
                        client.every(0s)
                        client.write("fast\n")
                on client close [-server]:
                    @ [+server]: server.close()
        return true
    answer <- tcp_socket.connect("127.0.0.1", 8080) [+stdout]
    match answer:
        ok(s):
            on s line [+stdout]:
                stdout.write("%s\n", line.text)
                if line.text == "fast": s.close()
        error(e): stdout.write("%s\n", e.text())
`, "tick 1 1\ntick 1 2\nfast\n"},
	{"shutdown", `import io.socket.*
main: () void:
    server: tcp_socket@ = tcp_socket.listen(0)
    tick: timer@ = timer.every(10ms)
    n: int@
    on tick fired [+n, +stdout]:
        n += 1
        if n == 3:
            stdout.write("three\n")
            process.shutdown(1s)
    on server listening [+stdout]: stdout.write("%v\n", listening.port > 0)
`, "three\ntrue\n"},
}

func TestSockets(t *testing.T) {
	for _, talk := range talks {
		t.Run(talk.name, func(t *testing.T) {
			p := trial.Check(t, "talk.eve", talk.text)
			for seed := range uint64(40) {
				if d := trial.Difference(trial.AnyOrder, talk.want, run(p, seed)); d != "" {
					t.Fatalf("seed %d:\n%s", seed, d)
				}
			}
		})
	}
}

// TestHalfAMessageWaits: the time in which a program reads nothing is not held against the peer,
// who could not send the rest of a message.
func TestHalfAMessageWaits(t *testing.T) {
	const text = `import io.http
import io.socket.*
import io.websocket
serve: (x: http.exchange) void:
    bounds: websocket.limits = websocket.limits(message_time = 1s, silence = 4s)
    c: websocket.connection@ = websocket.connection(bounds)
    on c received [+stdout]: stdout.write("received %s\n", received.text)
    on c closed [+stdout]: stdout.write("closed %d %s\n", closed.code, closed.reason)
    early: timer@ = timer.after(100ms)
    late: timer@ = timer.after(10s)
    on early fired [+c]: websocket.pause(c)
    on late fired [+c]: websocket.resume(c)
    websocket.accept(c, x)
const head: string = ("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    + "Connection: upgrade\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
main: () void:
    table: http.routes
    table.get("/"):
        run = [] (x: http.exchange) void: serve(x)
    started <- http.listen(8080, table)
    match started:
        error(e): fail e
        ok(server): talk(server)
talk: (server: http.server@) void:
    came <- tcp_socket.connect("127.0.0.1", 8080) [-server]
    match came:
        error(e): fail e
        ok(s):
            heard: int@
            on s data [+heard]: heard += s.read_buffer().size()
            on s close [+server]: http.stop(server, 1s)
            @ [+s]: s.write_buffer((head + "\x01\x82\x00\x00\x00\x00ha").bytes())
            _ <- sleep(10500ms) [+s]
            s.write_buffer("\x80\x82\x00\x00\x00\x00lf\x88\x82\x00\x00\x00\x00\x03\xe8".bytes())
`
	p := trial.Check(t, "half.eve", text)
	for seed := range uint64(5) {
		if d := trial.Difference(text, "received half\nclosed 1000 \n", run(p, seed)); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
	}
}

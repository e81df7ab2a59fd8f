package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"interleave/papaya/corpus"
)

// A flow keeps messages in JetStream alone. A subject is a conversation. JetStream reads a subject
// forwards from a place, so a page needs to know where its messages are: the sequences of each
// conversation are in memory, and would be read again at each start. There is no search.
type flow struct {
	folder string
	server *natsserver.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	places map[string][]place
	now    int64
	last   row // that was read
}

// A place is where a message is in the stream.
type place struct {
	time     int64
	sequence uint64
}

const streamName = "messages"

func openStream(ctx context.Context, folder string) (store, error) {
	f := &flow{folder: folder, places: map[string][]place{}, now: entered}
	return f, f.start(ctx, false)
}

// start starts the server. With sync, each message is on the disk before it is acknowledged.
func (f *flow) start(ctx context.Context, sync bool) (err error) {
	f.server, err = natsserver.NewServer(&natsserver.Options{ServerName: "beside",
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: f.folder,
		SyncAlways: sync, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 50})
	if err != nil {
		return err
	}
	f.server.Start()
	if !f.server.ReadyForConnections(time.Minute) {
		return errors.New("JetStream does not start")
	}
	if f.conn, err = nats.Connect("", nats.InProcessServer(f.server)); err != nil {
		return err
	}
	if f.js, err = jetstream.New(f.conn, jetstream.WithPublishAsyncMaxPending(atOnce)); err != nil {
		return err
	}
	f.stream, err = f.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: streamName,
		Subjects: []string{"m.>"}, Storage: jetstream.FileStorage, AllowDirect: true})
	return err
}

func (f *flow) stopServer() {
	f.conn.Close()
	f.server.Shutdown()
	f.server.WaitForShutdown()
}

func (f *flow) fill(messages int) error {
	if err := fillBy(f.store, messages); err != nil {
		return err
	}
	f.now += returned
	f.stopServer()
	return f.start(context.Background(), true)
}

func (f *flow) append(said []corpus.Message) error { return f.store(said, len(said)) }

// store publishes messages, and waits for all acknowledgements. So many are said at one time.
func (f *flow) store(said []corpus.Message, perBatch int) error {
	waits := make([]jetstream.PubAckFuture, len(said))
	for i, m := range said {
		if i%perBatch == 0 {
			f.now += corpus.Between
		}
		data := fmt.Appendf(nil, "%d\x00%s\x00%s", f.now, corpus.Account(m.From), m.Text)
		ack, err := f.js.PublishAsync(subject(conversation(m.From, m.Target)), data)
		if err != nil {
			return err
		}
		waits[i] = ack
	}
	for i, m := range said {
		select {
		case err := <-waits[i].Err():
			return err
		case ack := <-waits[i].Ok():
			name := conversation(m.From, m.Target)
			at := f.now - int64((len(said)-1)/perBatch-i/perBatch)*corpus.Between
			f.places[name] = append(f.places[name], place{at, ack.Sequence})
		}
	}
	return nil
}

// subject is that of a conversation, whose name has no dots.
func subject(conversation string) string {
	return "m." + strings.ReplaceAll(conversation, " ", ".")
}

func (f *flow) page(target string, before int64) (int, error) {
	all := f.places[conversation(0, target)]
	if before != 0 {
		all = all[:sort.Search(len(all), func(i int) bool { return all[i].time >= before })]
	}
	all = all[max(0, len(all)-pageSize):]
	for _, p := range all {
		m, err := f.stream.GetMsg(context.Background(), p.sequence)
		if err != nil {
			return 0, err
		}
		at, rest, _ := bytes.Cut(m.Data, []byte{0})
		from, text, _ := bytes.Cut(rest, []byte{0})
		ms, err := strconv.ParseInt(string(at), 10, 64)
		if err != nil {
			return 0, err
		}
		f.last = row{ms, string(from), string(text)}
	}
	return len(all), nil
}

func (f *flow) search(string, []string) (int, error) { return 0, errNone }

func (f *flow) close() error {
	f.stopServer()
	return nil
}

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"interleave/internal/version"
	"interleave/papaya/log"
	"interleave/papaya/server"
)

// gonet.go may replace the kernel's stack by GoNet.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

// serveOptions are the flags of `papaya serve`.
type serveOptions struct {
	listen, web      []string
	data, name, motd string
	nats, unique     string
	replicas         int
	plain            bool
	config           string
}

func serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve chat",
		Long: `Serve chat until SIGTERM or Ctrl-C. It prints "ready" once clients are accepted.

With --nats, several servers on the same NATS cluster serve the same rooms. Each has its own folder and its own --unique name.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.listen, "listen", []string{"127.0.0.1:6667"}, "`addresses` for plain IRC")
	f.StringSliceVar(&o.web, "web", nil, "`addresses` for browsers, without TLS")
	f.StringVar(&o.config, "config", "",
		"`file` of settings (papaya admin example prints one). What is said here stands before it")
	f.BoolVar(&o.plain, "plain", false, "no TLS and no accounts")
	f.StringVar(&o.data, "data", "papaya-data",
		"`folder` of the log; it is made if it is not there")
	f.StringVar(&o.name, "name", "chat", "the server's `name`")
	f.StringVar(&o.motd, "motd", "", "`file` with the message of the day")
	f.StringVar(&o.nats, "nats", "",
		"`URL` of a NATS cluster that other servers use too; without, NATS is embedded")
	f.StringVar(&o.unique, "unique", "",
		"this server's `name` among those of the cluster; without, the machine's")
	f.IntVar(&o.replicas, "replicas", 0,
		"how many nodes of the cluster keep the log; 0 is three, or one where there are fewer")
	return c
}

func serve(cmd *cobra.Command, o serveOptions) (err error) {
	go collect(cmd.Context())
	defer func() { _ = leave() }()
	if !o.plain {
		return serveDaemon(cmd, o)
	}
	ctx := cmd.Context()
	var motd []byte
	if o.motd != "" {
		if motd, err = os.ReadFile(o.motd); err != nil {
			return fmt.Errorf("reading the message of the day: %w", err)
		}
	}
	text, err := log.OpenText(o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	if o.unique == "" {
		o.unique, _ = os.Hostname()
	}
	store, err := log.Open(ctx, log.Options{Folder: filepath.Join(o.data, "stream"), URL: o.nats,
		Replicas: o.replicas, Name: "papaya " + o.unique})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys, err := openKeys(ctx, store)
	if err != nil {
		return err
	}
	secret, err := openMsgids(ctx, keys)
	if err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return server.Run(ctx, server.Config{
		Name: o.name, MOTD: string(motd), Version: version.String(), Plain: o.listen, Web: o.web,
		Listen: listen,
		Secret: secret, MsgidsFrom: func(at uint64) { saveMsgids(o.data, secret, at, logger) },
		Data: o.data, Text: text, Log: store, Shared: o.nats != "", Unique: o.unique,
		Logger: logger,
		Ready:  func() { fmt.Fprintln(stderr, "ready") },
	})
}

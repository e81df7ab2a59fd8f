package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/internal/freeport"
	"interleave/papaya/torture"
)

// rushOptions are the flags of `papaya torture sessions`.
type rushOptions struct {
	torture.RushOptions
	keep bool
}

func rushCommand() *cobra.Command {
	var o rushOptions
	c := &cobra.Command{
		Use:   "sessions",
		Short: "Have thousands of sessions log in at once, talk, and lose their server",
		Long: `Starts a server in a temporary folder and makes accounts. All sessions log in at
once, by password over TLS. They talk, also while one of them does not read. Then the server is
killed, and they log in at once again. It prints how long that took, and what the server used.

It fails if a session cannot log in, if an acknowledged message is lost or there twice, and if the
server has connections or goroutines left when all have left. The sessions run on the same machine
and take cores from the server. Each needs a file descriptor, here and in the server, and 60 KiB of
memory.`,
		Example: "  papaya torture sessions --sessions 1000 --accounts 300\n" +
			"  papaya torture sessions --scram --accounts 300",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return rush(cmd, o) },
	}
	f := c.Flags()
	f.IntVar(&o.Sessions, "sessions", 10_000, "how many sessions there are in all")
	f.IntVar(&o.Accounts, "accounts", 3000, "how many accounts have them, in rooms of 50")
	f.BoolVar(&o.Scram, "scram", false, "log in by SCRAM-SHA-256 instead of PLAIN")
	f.BoolVar(&o.Tokens, "tokens", false,
		"log in by a token of the account after the kill, as devices do that stay signed in")
	f.BoolVar(&o.Everyone, "everyone", true, "there is also one room of all accounts")
	f.DurationVar(&o.For, "for", 20*time.Second, "how long they talk before the server is killed")
	f.DurationVar(&o.Within, "within", 0,
		"fail if the server acknowledges nothing for so long after the kill; 0 is no limit")
	f.BoolVar(&o.keep, "keep", false, "keep the folder of the server if something is wrong")
	f.StringVar(&o.Program, "program", "",
		"the papaya that serves, as a `file`; without, this one")
	return c
}

// maxAccounts bounds the accounts: each has an address of its own in 127.0.0.0/8.
const maxAccounts = 1 << 22

// rush runs the campaign.
func rush(cmd *cobra.Command, o rushOptions) (err error) {
	if o.Accounts < 1 || o.Accounts > maxAccounts || o.Sessions < o.Accounts || o.For <= 0 ||
		o.Within < 0 {
		return command.Usagef("torture sessions: some accounts, no fewer sessions than accounts, " +
			"and some time")
	}
	if o.Scram && o.Tokens {
		return command.Usagef("torture sessions: a token is no password for SCRAM: leave out " +
			"--scram or --tokens")
	}
	if o.Program, err = tortured(o.Program); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	folder, remove, err := tortureFolder(stderr, o.keep)
	if err != nil {
		return err
	}
	defer func() { err = remove(err) }()
	port, err := freeport.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, port.Close()) }()
	o.Folder, o.Port = folder, port.Port
	o.Tell = func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
	err = torture.Rush(cmd.Context(), o.RushOptions)
	switch {
	case cmd.Context().Err() != nil:
		return errors.New("torture sessions: it was ended")
	case err != nil:
		return fmt.Errorf("torture sessions: %w", err)
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/papaya/keep"
)

func exportCommand() *cobra.Command {
	var p target
	var f keep.Filter
	var since, until, format, file string
	c := &cobra.Command{
		Use:   "export",
		Short: "Export messages",
		Long: `Writes all or some messages, as the log has them or as a JSON object on each line. It reads the log in the data folder,
whether a server runs or not. It shows private messages too: everybody who can read the folder can do that.`,
		Example: `  papaya export --room '#tea'
  papaya export --words kettle,boils --since 2026-01-01
  papaya export --person ann --format json -o ann.jsonl`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if f.Since, err = parseTime(since); err != nil {
				return command.Usagef("--since %w", err)
			}
			if f.Until, err = parseTime(until); err != nil {
				return command.Usagef("--until %w", err)
			}
			if format != string(keep.AsText) && format != string(keep.AsJSON) {
				return command.Usagef("--format %s: expected text or json", format)
			}
			return writeTo(cmd, file,
				func(w io.Writer) error { return export(cmd, &p, f, keep.Format(format), w) })
		},
	}
	p.flags(c)
	c.Flags().StringSliceVar(&f.Rooms, "room", nil, "what was said in these `rooms`")
	c.Flags().StringSliceVar(&f.People, "person", nil,
		"what these `nicks` said, and what was said to them alone")
	c.Flags().StringSliceVar(&f.Words, "words", nil,
		"what has all of these `words` in it, in any case")
	c.Flags().StringVar(&since, "since", "",
		"not before this `time`: 2026-11-22 or 2026-11-22T07:20:00Z")
	c.Flags().StringVar(&until, "until", "", "before this `time`")
	c.Flags().StringVar(&format, "format", string(keep.AsText), "text or json")
	c.Flags().StringVarP(&file, "output", "o", "-",
		"the `file` that is written, not over one that is there")
	return c
}

func export(cmd *cobra.Command, p *target, f keep.Filter, format keep.Format, w io.Writer) error {
	c, err := p.settings()
	if err != nil {
		return err
	}
	text, err := keep.OpenFile(c.Data)
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }() // it was only read
	ids, err := readMsgids(c.Data)
	if err != nil {
		return err
	}
	bad := 0
	_, err = keep.Export(cmd.Context(), text, f, format, ids, w, func(uint64, error) { bad++ })
	if bad > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"papaya: the log has %d lines that are not Papaya's; they were left out\n", bad)
	}
	return err
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: expected a time as 2026-11-22 or 2026-11-22T07:20:00Z", s)
}

// writeTo writes to a new file with mode 0600, and removes it after an error; - is standard output.
func writeTo(cmd *cobra.Command, file string, write func(io.Writer) error) error {
	if file == "-" {
		return write(cmd.OutOrStdout())
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(file) // it is incomplete
	}
	return err
}

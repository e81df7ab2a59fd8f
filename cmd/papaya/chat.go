package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"interleave/internal/command"
	"interleave/papaya/client"
	"interleave/papaya/irc"
	"interleave/papaya/terminal"
)

// IRC's ports at IANA.
const (
	tlsPort   = "6697"
	plainPort = "6667"
)

// maxSecret bounds the size of a file with a password, in bytes.
const maxSecret = 4096

// chatOptions are the flags of `papaya chat`.
type chatOptions struct {
	nick, account, passwordFile, passFile, certificates, tokens string
	plain, invited, stay, signOut                               bool
}

func chatCommand() *cobra.Command {
	var o chatOptions
	c := &cobra.Command{
		Use:   "chat HOST[:PORT] [ROOM...]",
		Short: "Chat in this terminal",
		Long: `Chat in this terminal, with Papaya or any other IRC server. /help inside lists commands and keys, Ctrl-C leaves.

The connection is encrypted, except with --plain. You are asked once about a certificate that the system does not trust; from then
on it must be the same. Passwords come from a file or are asked for, never from the command line.

With --stay the server makes a token for this device. The token is on record from then on, and is
used in the place of the password, which is never stored. --sign-out ends the token.`,
		Example: "  papaya chat chat.example.org '#kitchen'\n  papaya chat --account ann " +
			"chat.example.org\n  papaya chat --account ann --invited chat.example.org\n  papaya " +
			"chat --account ann --stay chat.example.org\n  papaya chat --sign-out " +
			"chat.example.org\n  papaya chat --plain localhost:6667",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.signOut {
				return signOut(cmd, o, args[0])
			}
			return chat(cmd, o, args[0], args[1:])
		},
	}
	f := c.Flags()
	f.StringVar(&o.nick, "nick", "",
		"your `nick`; without, the account's name or that of your user here")
	f.StringVar(&o.account, "account", "",
		"sign in to the account of this `name`; its password is asked for")
	f.StringVar(&o.passwordFile, "password-file", "",
		"`file` whose first line is the account's password; - is standard input")
	f.StringVar(&o.passFile, "server-password-file", "",
		"`file` whose first line is the server's password")
	f.StringVar(&o.certificates, "certificates", "",
		"`file` of the certificates on record; without, papaya/certificates in your folder of "+
			"settings")
	f.BoolVar(&o.invited, "invited", false,
		"make the account: an invitation is asked for, and the password that it shall have")
	f.StringVar(&o.tokens, "tokens", "",
		"`file` of the tokens on record; without, papaya/tokens in your folder of settings")
	f.BoolVar(&o.stay, "stay", false,
		"stay signed in to the account on this device, without its password from then on")
	f.BoolVar(&o.signOut, "sign-out", false, "end that, and leave")
	c.MarkFlagsMutuallyExclusive("stay", "sign-out")
	f.BoolVar(&o.plain, "plain", false, "no encryption: everybody on the way can read along")
	return c
}

func chat(cmd *cobra.Command, o chatOptions, host string, rooms []string) error {
	name, addr, err := address(host, o.plain)
	if err != nil {
		return err
	}
	kept, err := o.kept(addr)
	if err != nil {
		return err
	}
	o.account = cmp.Or(o.account, kept.Account)
	settings, err := chatSettings(o, rooms)
	if err != nil {
		return err
	}
	in, out := os.Stdin, os.Stdout
	if !term.IsTerminal(int(out.Fd())) || o.passwordFile != "-" && !term.IsTerminal(int(in.Fd())) {
		return errors.New("chat: needs a terminal, for what is typed and for what is shown")
	}
	if o.passwordFile == "-" {
		if in, err = os.Open("/dev/tty"); err != nil {
			return fmt.Errorf("chat: standard input has the password, and there is no other "+
				"terminal: %w", err)
		}
		defer in.Close()
	}
	if settings.Pass, err = secret(cmd.InOrStdin(), o.passFile); err != nil {
		return err
	}
	if o.invited {
		if settings.Invitation, err = asked(cmd, "Invitation: ", in); err != nil {
			return err
		}
	}
	settings.Password = kept.Token
	if kept.Token == "" {
		if settings.Password, err = password(cmd, o, in); err != nil {
			return err
		}
	}
	if o.stay {
		if settings.Keep, settings.Former, err = o.keeping(addr); err != nil {
			return err
		}
		settings.Device = thisDevice()
	}
	dial, pins := client.Plain(addr), &client.Pins{}
	if !o.plain {
		if dial, pins, err = encrypted(cmd.Context(), o, name, addr, in); err != nil {
			return err
		}
	}
	send := func(ctx context.Context, to client.FileHost, path string) (string, error) {
		return to.Upload(ctx, pins, addr, path)
	}
	err = terminal.Run(cmd.Context(), client.New(settings), dial, send, in, out)
	if errors.Is(err, terminal.ErrRefused) && kept.Token != "" {
		err = fmt.Errorf("%w; the token that keeps %s signed in here may have ended: --stay asks "+
			"for the password and makes another one, --sign-out forgets it", err, kept.Account)
	}
	return err
}

// chatSettings makes the settings of the session from the flags.
func chatSettings(o chatOptions, rooms []string) (client.Settings, error) {
	nick := cmp.Or(o.nick, o.account)
	if nick == "" {
		if u, err := user.Current(); err == nil {
			nick = u.Username
		}
	}
	if !irc.IsNick(nick) {
		return client.Settings{},
			command.Usagef("chat: %q cannot be a nick: give one with --nick, of letters, "+
				"digits, - and _", nick)
	}
	for i, r := range rooms {
		if !strings.HasPrefix(r, "#") && !strings.HasPrefix(r, "&") {
			rooms[i] = "#" + r
		}
		if strings.ContainsAny(rooms[i], " ,\r\n\x00\a") {
			return client.Settings{}, command.Usagef("chat: %q cannot be a room", r)
		}
	}
	if o.invited && o.account == "" {
		return client.Settings{},
			command.Usagef("chat: --invited needs --account, the name that it shall have")
	}
	if o.stay && o.account == "" {
		return client.Settings{},
			command.Usagef("chat: --stay needs --account, the name of the one to stay signed in to")
	}
	if o.passwordFile != "" && o.account == "" {
		return client.Settings{},
			command.Usagef("chat: --password-file needs --account, whose password it is")
	}
	return client.Settings{Nick: nick, Account: o.account, Rooms: rooms}, nil
}

// address splits HOST, HOST:PORT or an IPv6 address, with or without brackets, into the name of the
// certificate and the address to dial.
func address(host string, plain bool) (name, addr string, err error) {
	port := tlsPort
	if plain {
		port = plainPort
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		name, port = h, p
	} else {
		name = strings.Trim(host, "[]")
	}
	if name == "" || port == "" || strings.ContainsAny(name+port, "/ @") {
		return "", "", command.Usagef("chat: %q is no HOST or HOST:PORT", host)
	}
	return name, net.JoinHostPort(name, port), nil
}

// password returns the account's password, from the file or from the user.
func password(cmd *cobra.Command, o chatOptions, tty *os.File) (string, error) {
	if o.account == "" {
		return "", nil
	}
	if o.passwordFile != "" {
		return secret(cmd.InOrStdin(), o.passwordFile)
	}
	word, err := asked(cmd, "Password of "+o.account+": ", tty)
	if err != nil || !o.invited {
		return word, err
	}
	again, err := asked(cmd, "Once more: ", tty)
	if err == nil && again != word {
		err = errors.New("chat: the two passwords are not the same")
	}
	return word, err
}

// asked asks the user for a secret, which is not shown.
func asked(cmd *cobra.Command, what string, tty *os.File) (string, error) {
	fmt.Fprint(cmd.ErrOrStderr(), what)
	word, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(cmd.ErrOrStderr())
	if err != nil {
		return "", fmt.Errorf("chat: reading a secret: %w", err)
	}
	return string(word), nil
}

// secret returns the first line of a file. Without a file it is empty.
func secret(stdin io.Reader, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("chat: reading a password: %w", err)
		}
		defer f.Close()
		in = f
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxSecret)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("chat: reading a password from %s: %w", file, err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("chat: the first line of %s is empty: no password is there", file)
	}
	return line, nil
}

// encrypted connects once, to ask the user about the certificate while the terminal is free. From
// then on the certificate must be on record.
func encrypted(ctx context.Context, o chatOptions, name, addr string,
	tty *os.File) (client.Dialer, *client.Pins, error) {
	file, err := onRecord("certificates", o.certificates)
	if err != nil {
		return nil, nil, err
	}
	asking := &client.Pins{File: file, Ask: func(addr, fingerprint string) bool {
		return trust(tty, os.Stderr, addr, fingerprint)
	}}
	conn, err := client.TLS(addr, name, asking)(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("chat: connecting to %s: %w", addr, err)
	}
	conn.Close()
	pins := &client.Pins{File: file}
	return client.TLS(addr, name, pins), pins, nil
}

// onRecord returns the file in which "certificates" or "tokens" are on record: the one that the
// flag of that name says, or else the file of that name in the folder of settings.
func onRecord(what, said string) (string, error) {
	if said != "" {
		return said, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("chat: finding where %s are on record: %w; --%[1]s says where", what,
			err)
	}
	return filepath.Join(dir, "papaya", what), nil
}

// trust asks the user about a certificate. Every answer but yes or y is no.
func trust(in io.Reader, out io.Writer, addr, fingerprint string) bool {
	fmt.Fprintf(out, `The certificate of %s is not signed by anybody this machine knows. Its SHA-256 is
  %s
Compare it with what the server's owner says. It is kept, and from then on it must be the same.
Is it the right one? [yes/no] `, addr, fingerprint)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "yes" || answer == "y"
}

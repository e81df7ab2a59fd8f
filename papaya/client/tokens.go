package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A TokenFile has the tokens by which the user stays signed in on this device: a line "address
// account token" for each. Only the user may read it.
type TokenFile struct{ Path string }

// A Kept token is a line of the file.
type Kept struct{ Addr, Account, Token string }

// maxTokenFile bounds the file in bytes.
const maxTokenFile = 1 << 20

// parseTokens parses the lines of the file.
func parseTokens(text string) ([]Kept, error) {
	var list []Kept
	n := 0
	for l := range strings.Lines(text) {
		n++
		words := strings.Fields(l)
		switch {
		case len(words) == 0:
		case len(words) == 3 && isWord(words[2]):
			list = append(list, Kept{words[0], words[1], words[2]})
		default: // the line is not shown: it may be a token
			return nil, fmt.Errorf("line %d: expected an address, an account and a token", n)
		}
	}
	return list, nil
}

// read returns the lines of the file. A file that others may read is refused.
func (f TokenFile) read() ([]Kept, error) {
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s has mode %04o, so others may use its tokens: chmod 600 it", f.Path,
			info.Mode().Perm())
	}
	if err == nil && info.Size() > maxTokenFile {
		err = fmt.Errorf("%s has %d bytes, more than %d", f.Path, info.Size(), maxTokenFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.Path)
	}
	var list []Kept
	if err == nil {
		if list, err = parseTokens(string(text)); err != nil {
			err = fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tokens on record: %w", err)
	}
	return list, nil
}

// Find returns the token of an account at an address, or of the only account there if none is
// named. ok is false if there is none.
func (f TokenFile) Find(addr, account string) (one Kept, ok bool, err error) {
	list, err := f.read()
	for _, k := range list {
		if k.Addr != addr || account != "" && !strings.EqualFold(k.Account, account) {
			continue
		}
		if ok {
			return Kept{}, false, nil // several
		}
		one, ok = k, true
	}
	return one, ok, err
}

// Put stores a token in the place of that of the same address and account.
func (f TokenFile) Put(k Kept) error {
	return f.change(k, func(rest []Kept) []Kept { return append(rest, k) })
}

// Remove removes the token of an address and account.
func (f TokenFile) Remove(k Kept) error {
	return f.change(k, func(rest []Kept) []Kept { return rest })
}

// change writes the file anew, with what is made of its other lines: as a whole or not at all.
func (f TokenFile) change(k Kept, made func(rest []Kept) []Kept) error {
	list, err := f.read()
	if err != nil {
		return err
	}
	var rest []Kept
	for _, o := range list {
		if o.Addr != k.Addr || !strings.EqualFold(o.Account, k.Account) {
			rest = append(rest, o)
		}
	}
	var text strings.Builder
	for _, o := range made(rest) {
		fmt.Fprintln(&text, o.Addr, o.Account, o.Token)
	}
	if err := f.write(text.String()); err != nil {
		return fmt.Errorf("recording a token in %s: %w", f.Path, err)
	}
	return nil
}

func (f TokenFile) write(text string) error {
	folder := filepath.Dir(f.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(folder, ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = fresh.WriteString(text)
	err = errors.Join(err, fresh.Sync(), fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), f.Path)
	}
	if err != nil {
		_ = os.Remove(fresh.Name())
	}
	return err
}

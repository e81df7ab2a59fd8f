package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/server"
)

// told makes the mistakes of an account's owner errors that the client may see.
func told(err error) error {
	var limited *account.LimitError
	switch {
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, server.ErrNotServing):
		return err
	case errors.Is(err, account.ErrWrong):
		return clientError{errors.New("the old password is wrong")}
	case errors.As(err, &limited):
		return clientError{limited}
	case errors.Is(err, account.ErrExists), errors.Is(err, account.ErrNone),
		errors.Is(err, account.ErrBusy), errors.Is(err, account.ErrRenaming),
		errors.Is(err, account.ErrRemoving),
		errors.Is(err, account.ErrChanged), errors.Is(err, file.ErrNone):
		return clientError{err}
	}
	if mistake, ok := errors.AsType[account.Mistake](err); ok {
		return clientError{mistake}
	}
	return err
}

// SetPassword implements server.Own, as the methods below do.
func (d authenticator) SetPassword(ctx context.Context, who server.Owner, old, new string) error {
	a, err := d.book.Find(ctx, who.Account)
	if err == nil && who.Token != "" && !a.HasPassword {
		err = d.proves(ctx, who, old) // an account without a password gets none from a token
	}
	if err != nil {
		return told(err)
	}
	return told(d.book.ChangePassword(ctx, addrOf(who.From), who.Account, account.NewSecret(old),
		account.NewSecret(new)))
}

// Certificates implements server.Own.
func (d authenticator) Certificates(ctx context.Context, name string) ([]string, error) {
	a, err := d.book.Find(ctx, name)
	return a.Certificates, told(err)
}

// AddCertificate implements server.Own.
func (d authenticator) AddCertificate(ctx context.Context, who server.Owner,
	fingerprint, password string) error {
	if err := d.provesAlone(ctx, who, password); err != nil {
		return err
	}
	return told(d.book.AddCertificate(ctx, who.Account, fingerprint))
}

// RemoveCertificate implements server.Own.
func (d authenticator) RemoveCertificate(ctx context.Context, name, fingerprint string) error {
	return told(d.book.RemoveCertificate(ctx, name, fingerprint))
}

// Rename implements server.Own.
func (d authenticator) Rename(ctx context.Context, who server.Owner, name, password string) error {
	if err := d.provesAlone(ctx, who, password); err != nil {
		return err
	}
	if err := d.book.RenameOwn(ctx, addrOf(who.From), who.Account, name); err != nil {
		return told(err)
	}
	d.logger.Info("an account has another name", "old", who.Account, "new", name)
	return told(d.rename(ctx))
}

// Files implements server.Own.
func (d authenticator) Files(_ context.Context, name string) ([]string, error) {
	return d.files.Owned(name).Lines(), nil
}

// RemoveFile implements server.Own.
func (d authenticator) RemoveFile(_ context.Context, name, id string) error {
	i, err := d.files.RemoveOwn(id, name)
	if err == nil {
		file.LogDeleted(d.logger, i)
	}
	return told(err)
}

// rename tells the chat the new names of accounts.
func (d *daemon) rename(ctx context.Context) error {
	list, err := d.book.Renames(ctx)
	for _, n := range list {
		one := d.admin.Order(ctx, hall.RenameAccount, n.Old, n.New)
		if one == nil && d.push != nil {
			one = d.push.Rename(ctx, n.Old, n.New)
		}
		if one == nil {
			one = d.files.Rename(n.Old, n.New)
		}
		if one == nil {
			one = d.book.Renamed(ctx, n)
		}
		err = errors.Join(err, one)
	}
	return err
}

// expire takes accounts out of their rooms that have not been connected for long.
func (d *daemon) expire(ctx context.Context, now time.Time) {
	select {
	case <-d.ready:
	case <-ctx.Done():
		return
	}
	age := d.settings.Load().Expire
	if age == 0 {
		return
	}
	since := now.Add(-age)
	list, err := d.admin.Unseen(ctx, since)
	for _, name := range list {
		if err = d.admin.Order(ctx, hall.ExpireAccount, name,
			strconv.FormatInt(since.UnixMilli(), 10), "Not seen for long"); err != nil {
			break
		}
	}
	if (len(list) > 0 || err != nil) && ctx.Err() == nil {
		d.logger.Info("accounts that were not seen for long have left their rooms",
			"accounts", list, "error", err)
	}
}

//go:build !libsqlite3

package main

import (
	"context"
	"errors"
)

func openSQLite(context.Context, string) (store, error) {
	return nil, errors.New("this program is built without SQLite: install libsqlite3-dev, and " +
		"build with -tags=libsqlite3")
}

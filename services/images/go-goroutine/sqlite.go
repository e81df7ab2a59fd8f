//go:build libsqlite3

package main

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/mattn/go-sqlite3"
)

// A connector opens SQLite, the system's library, and runs the statements for each new connection.
type connector struct {
	driver      sqlite3.SQLiteDriver
	file, first string
}

func openSQLite(file, first string) (driver.Connector, error) {
	return &connector{file: file, first: first}, nil
}

func (c *connector) Driver() driver.Driver { return &c.driver }

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.file)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.first, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// isFull says whether SQLite has found its disk full.
func isFull(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	return ok && e.Code == sqlite3.ErrFull
}

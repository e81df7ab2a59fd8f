//go:build !libsqlite3

package main

import (
	"database/sql/driver"
	"errors"
)

// openSQLite fails in a program that was built without SQLite: PostgreSQL is its only database.
func openSQLite(_, _ string) (driver.Connector, error) {
	return nil,
		errors.New("SQLite is not built in: name a database of PostgreSQL, or build with " +
			"-tags=libsqlite3")
}

func isFull(error) bool { return false }

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	readers     = 4  // connections to SQLite beside the one that writes
	connections = 16 // to PostgreSQL
	askLimit    = 10 * time.Second
)

// A store is the database: SQLite in a file, or PostgreSQL. Both get the same statements, except
// for the form of arguments.
type store struct {
	read, write *sql.DB
	numbered    bool // $1 in place of ?
}

// openStore opens the database of the command line, with the statements in files.
func openStore(ctx context.Context, data, files string, database []string) (*store, error) {
	if len(database) > 0 {
		db, err := sql.Open("pgx", database[0])
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		s := &store{read: db, write: db, numbered: true}
		return s, s.prepare(ctx, filepath.Join(files, "schema.postgresql.sql"))
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	first, err := os.ReadFile(filepath.Join(files, "connect.sqlite.sql"))
	if err != nil {
		return nil, err
	}
	c, err := openSQLite(filepath.Join(data, "images.db"), string(first))
	if err != nil {
		return nil, err
	}
	s := &store{read: sql.OpenDB(c), write: sql.OpenDB(c)}
	s.write.SetMaxOpenConns(1)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s, s.prepare(ctx, filepath.Join(files, "schema.sqlite.sql"))
}

// prepare makes the tables, if they are not there.
func (s *store) prepare(ctx context.Context, schema string) error {
	text, err := os.ReadFile(schema)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if _, err := s.write.ExecContext(ctx, string(text)); err != nil {
		return fmt.Errorf("opening the database: %s", strings.Join(strings.Fields(err.Error()),
			" "))
	}
	return nil
}

func (s *store) close() {
	_ = s.read.Close() // nothing is under way
	_ = s.write.Close()
}

// words writes the placeholders of a statement in the database's form.
func (s *store) words(text string) string {
	for i := 1; s.numbered && strings.Contains(text, "?"); i++ {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", i), 1)
	}
	return text
}

// row asks for one row. Its errors are ours.
func (s *store) row(ctx context.Context, db *sql.DB, text string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return wrong(db.QueryRowContext(ctx, s.words(text), args...).Scan(into...))
}

// add stores an image, under an id that it gives unless there is one.
func (s *store) add(ctx context.Context, e *entry) error {
	text := "INSERT INTO image (name, type, bytes, width, height, created, content) VALUES (?, " +
		"?, ?, ?, ?, ?, ?) RETURNING id"
	values := []any{e.name, e.picture.kind, e.bytes, e.picture.width, e.picture.height, e.createdMS,
		e.content}
	if e.id != 0 {
		text = "INSERT INTO image (name, type, bytes, width, height, created, content, id) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
		values = append(values, e.id)
	}
	return s.row(ctx, s.write, text, values, &e.id)
}

const columns = "SELECT id, name, type, bytes, width, height, created"

func (e *entry) fields() []any {
	return []any{&e.id, &e.name, &e.picture.kind, &e.bytes, &e.picture.width, &e.picture.height,
		&e.createdMS}
}

// get finds an image without its bytes.
func (s *store) get(ctx context.Context, id int64) (e entry, err error) {
	return e, s.row(ctx, s.read, columns+" FROM image WHERE id = ?", []any{id}, e.fields()...)
}

func (s *store) getWhole(ctx context.Context, id int64) (e entry, err error) {
	return e, s.row(ctx, s.read, columns+", content FROM image WHERE id = ?", []any{id},
		append(e.fields(), &e.content)...)
}

// getThumbnail finds an image with its thumbnail, if that has been made.
func (s *store) getThumbnail(ctx context.Context, id int64) (e entry, err error) {
	var kind sql.NullString
	err = s.row(ctx, s.read, `SELECT image.id, image.created, thumbnail.type, thumbnail.content
		FROM image LEFT JOIN thumbnail ON thumbnail.image = image.id WHERE image.id = ?`, []any{id}, &e.id, &e.createdMS, &kind, &e.thumbnail)
	e.thumbnailKind = kind.String
	return e, err
}

// keep stores a thumbnail unless there is one already.
func (s *store) keep(ctx context.Context, e entry) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_, err := s.write.ExecContext(ctx,
		s.words("INSERT INTO thumbnail (image, type, content) VALUES (?, ?, ?) ON CONFLICT DO "+
			"NOTHING"),
		e.id, e.thumbnailKind, e.thumbnail)
	return wrong(err)
}

func (s *store) remove(ctx context.Context, id int64) error {
	return s.row(ctx, s.write, "DELETE FROM image WHERE id = ? RETURNING id", []any{id}, &id)
}

// list returns up to limit images with ids below before, the newest first.
func (s *store) list(ctx context.Context, before int64, limit int) (all []entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	rows, err := s.read.QueryContext(ctx,
		s.words(columns+" FROM image WHERE id < ? ORDER BY id DESC LIMIT ?"), before, limit)
	if err != nil {
		return nil, wrong(err)
	}
	defer func() { _ = rows.Close() }() // Err returns the error
	for rows.Next() {
		var e entry
		if err := rows.Scan(e.fields()...); err != nil {
			return nil, wrong(err)
		}
		all = append(all, e)
	}
	return all, wrong(rows.Err())
}

// answers runs the smallest query that shows that the database is there.
func (s *store) answers(ctx context.Context) error {
	var one int
	return s.row(ctx, s.read, "SELECT 1", nil, &one)
}

// wrong maps a driver's error to one of ours.
func wrong(err error) error {
	const postgresFull = "53100"
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return errAbsent
	}
	if isFull(err) {
		return errFull
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == postgresFull {
		return errFull
	}
	return errGone
}

//go:build libsqlite3

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3", with the system's library

	"interleave/papaya/corpus"
)

// A relation keeps messages in a table of SQLite, with an index of conversations and times, and
// one of trigrams, which finds parts of words. Its pages are the files' own: the words stand once
// in the table, and the index names rows.
type relation struct {
	db                                  *sql.DB
	insert, latest, earlier, find, word *sql.Stmt
	now                                 int64
}

const schema = `
CREATE TABLE message (id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, time INTEGER NOT NULL,
	sender TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX conversations ON message (conversation, time, id);
CREATE VIRTUAL TABLE words USING fts5(text, content='message', content_rowid='id',
	tokenize='trigram', detail='full');`

func openSQLite(_ context.Context, folder string) (store, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(folder, "messages.db")+
		"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // of the one goroutine
	s := &relation{db: db, now: entered}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	const columns = "SELECT time, sender, text FROM message "
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.insert, "INSERT INTO message (conversation, time, sender, text) VALUES (?, ?, ?, ?)"},
		{&s.word, "INSERT INTO words (rowid, text) VALUES (?, ?)"},
		{&s.latest, columns + "WHERE conversation = ? ORDER BY time DESC, id DESC LIMIT ?"},
		{&s.earlier, columns +
			"WHERE conversation = ? AND time < ? ORDER BY time DESC, id DESC LIMIT ?"},
		{&s.find, "SELECT message.time, message.sender, message.text " +
			"FROM words JOIN message ON message.id = words.rowid " +
			"WHERE words MATCH ? AND message.conversation = ? ORDER BY words.rowid DESC LIMIT ?"},
	} {
		if *p.to, err = db.Prepare(p.text); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return s, nil
}

func (s *relation) fill(messages int) error {
	if err := fillBy(s.store, messages); err != nil {
		return err
	}
	s.now += returned
	_, err := s.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (s *relation) append(said []corpus.Message) error { return s.store(said, len(said)) }

// store stores messages in one transaction. So many of them are said at the same time.
func (s *relation) store(said []corpus.Message, perBatch int) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	insert, word := tx.Stmt(s.insert), tx.Stmt(s.word)
	for i, m := range said {
		if i%perBatch == 0 {
			s.now += corpus.Between
		}
		var added sql.Result
		added, err = insert.Exec(conversation(m.From, m.Target), s.now, corpus.Account(m.From),
			m.Text)
		if err == nil {
			var id int64
			if id, err = added.LastInsertId(); err == nil {
				_, err = word.Exec(id, m.Text)
			}
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (s *relation) page(target string, before int64) (int, error) {
	name := conversation(0, target)
	if before == 0 {
		return count(s.latest.Query(name, pageSize))
	}
	return count(s.earlier.Query(name, before, pageSize))
}

func (s *relation) search(target string, words []string) (int, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return count(s.find.Query(strings.Join(quoted, " AND "), conversation(0, target), hits))
}

// count reads all rows.
func count(rows *sql.Rows, err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var r row
		if err := rows.Scan(&r.time, &r.from, &r.text); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

func (s *relation) close() error { return s.db.Close() }

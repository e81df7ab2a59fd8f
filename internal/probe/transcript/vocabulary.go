package transcript

import (
	"fmt"
	"slices"
	"strings"
)

// A Vocabulary is a table of verbs, by the words with which lines begin. The order of these words
// is that in which errors list them.
type Vocabulary[A any] []Subject[A]

// A Subject is a word with which lines begin, and the verbs that may follow it.
type Subject[A any] struct {
	Word  string // Client for all lines that begin with the name of a client
	Verbs Verbs[A]
}

// Client is the subject of lines that begin with the name of a client or group.
const Client = "NAME"

// Verbs are the verbs of one subject, by the word or the two words that follow it. The key `"` is a
// quoted string, and the key "" means that the subject alone is the verb, as in "dial a".
type Verbs[A any] map[string]Verb[A]

// A Verb says how one kind of line is read. The action that Read returns knows how it is played.
type Verb[A any] struct {
	// Usage is how the whole line is written. Errors show it.
	Usage string
	// Read reads the words after the verb.
	Read func(*Line) (A, error)
	// Whole means that the verb's word is the first word of what Read reads.
	Whole bool
	// Shares means that after the verb a server may still play other transcripts.
	Shares bool
}

// Join puts vocabularies together. It panics if two of them have the same verb: that is a mistake
// in a program, which its tests show.
func Join[A any](parts ...Vocabulary[A]) Vocabulary[A] {
	var all Vocabulary[A]
	for _, part := range parts {
		for _, subject := range part {
			i := slices.IndexFunc(all, func(s Subject[A]) bool { return s.Word == subject.Word })
			if i < 0 {
				i = len(all)
				all = append(all, Subject[A]{subject.Word, Verbs[A]{}})
			}
			for word, verb := range subject.Verbs {
				if _, twice := all[i].Verbs[word]; twice {
					panic(fmt.Sprintf("two vocabularies have the verb %s %s", subject.Word, word))
				}
				all[i].Verbs[word] = verb
			}
		}
	}
	return all
}

// words lists what lines may begin with, besides the names of clients.
func (v Vocabulary[A]) words() (words []string) {
	for _, subject := range v {
		if subject.Word != Client {
			words = append(words, subject.Word)
		}
	}
	return words
}

// after returns the verbs that may follow a word.
func (v Vocabulary[A]) after(word string) (verbs Verbs[A], known bool) {
	for _, subject := range v {
		if subject.Word == word {
			return subject.Verbs, true
		}
	}
	return nil, false
}

// next finds the verb that comes next on the line, and takes its words.
func (v Verbs[A]) next(l *Line, subject string) (Verb[A], error) {
	if verb, ok := v[""]; ok {
		return verb, nil
	}
	first, ok := l.peek()
	if ok && first.quoted {
		if verb, ok := v[`"`]; ok {
			return verb, nil
		}
	} else if ok {
		if verb, ok := v[first.text+" "+l.wordAt(l.at+1)]; ok {
			l.at += 2
			return verb, nil
		}
		if verb, ok := v[first.text]; ok {
			if !verb.Whole {
				l.at++
			}
			return verb, nil
		}
	}
	var names []string
	for name := range v {
		name, _, _ = strings.Cut(name, " ")
		names = append(names, strings.Replace(name, `"`, "a quoted string", 1))
	}
	slices.Sort(names)
	return Verb[A]{}, fmt.Errorf("expected one of %s after %s",
		strings.Join(slices.Compact(names), ", "), subject)
}

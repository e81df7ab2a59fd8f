// Package corpus makes up a chat for benchmarks: who says what, to whom, and what they look for.
// All of it follows from a seed.
package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The people and rooms. Ann is the first account, and in all rooms, as everybody is. A fifth of the
// messages are private, of which one in ten is between ann and another. In each room the messages
// are half of those in the room before, down to one in a thousand.
const (
	Accounts = 200
	Rooms    = 60
	words    = 200_000 // the vocabulary; frequencies are those of Zipf's law
)

// A Corpus says what people say, and what they look for.
type Corpus struct {
	Random *rand.Rand
	zipf   *rand.Zipf
}

// New returns a corpus at its beginning.
func New(seed uint64) *Corpus {
	r := rand.New(rand.NewPCG(seed, seed))
	return &Corpus{r, rand.NewZipf(r, 1.1, 8, words-1)}
}

var syllables = strings.Fields("ba ce di fo gu ka le mi no pu ra se ti vo wu za che shi tho")

// word returns a word of the vocabulary, of which the first ones are short.
func word(n uint64) string {
	var w strings.Builder
	for n++; n > 0; n /= uint64(len(syllables)) {
		w.WriteString(syllables[n%uint64(len(syllables))])
	}
	return w.String()
}

// text returns 3 to 14 words.
func (c *Corpus) text() string {
	var text []string
	for range 3 + c.Random.IntN(12) {
		text = append(text, word(c.zipf.Uint64()))
	}
	return strings.Join(text, " ")
}

// Account returns the name of an account, of which there are Accounts.
func Account(n int) string {
	if n == 0 {
		return "ann"
	}
	return fmt.Sprint("u", n)
}

// Room returns the name of a room, of which there are Rooms.
func Room(n int) string { return fmt.Sprint("#room", n) }

// A Message is what an account says to a room or an account.
type Message struct {
	From   int
	Target string
	Text   string
}

// Message returns the next message.
func (c *Corpus) Message() Message {
	from, target := c.pair()
	return Message{from, target, c.text()}
}

// pair returns who says something, and to whom.
func (c *Corpus) pair() (from int, target string) {
	from = c.Random.IntN(Accounts)
	if c.Random.IntN(5) > 0 {
		room := 0
		for room < 10 && c.Random.IntN(2) == 0 {
			room++
		}
		if room == 10 { // those in which people seldom talk
			room += c.Random.IntN(Rooms - 10)
		}
		return from, Room(room)
	}
	switch c.Random.IntN(20) {
	case 0:
		return 0, Account(1 + c.Random.IntN(Accounts-1))
	case 1:
		return 1 + c.Random.IntN(Accounts-1), Account(0)
	}
	return from, Account(c.Random.IntN(Accounts))
}

// Target returns a room, or an account that ann may have talked with.
func (c *Corpus) Target() string {
	if c.Random.IntN(2) == 0 {
		return Account(1 + c.Random.IntN(Accounts-1))
	}
	return Room(c.Random.IntN(Rooms))
}

// Question returns words of any frequency, parts of words, and words that nobody says.
func (c *Corpus) Question() string {
	switch c.Random.IntN(4) {
	case 0:
		return word(c.zipf.Uint64())
	case 1:
		return word(c.Random.Uint64N(words)) + " " + word(c.zipf.Uint64())
	case 2:
		return word(words + c.Random.Uint64N(words))
	}
	w := word(c.Random.Uint64N(words))
	return w[len(w)/3:]
}

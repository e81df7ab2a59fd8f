package bans

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Forever is the length of a ban without an end.
const Forever time.Duration = 0

const day = 24 * time.Hour

// units are those of a length.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day,
	'w': 7 * day, 'y': 365 * day}

// maxLength is the longest length: half of what a time.Duration holds, which is 146 years.
const maxLength = math.MaxInt64 / 2

var errLength = errors.New(`expected a time as 30m, 12h, 7d or 1w2d, or "forever"`)

// ParseLength parses how long a ban lasts: "30m", "7d", "1w2d", or "forever".
func ParseLength(word string) (time.Duration, error) {
	if strings.EqualFold(word, "forever") {
		return Forever, nil
	}
	all := time.Duration(0)
	for rest := word; rest != ""; {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 {
			return 0, errLength
		}
		n, err := strconv.ParseInt(rest[:end], 10, 32)
		unit := units[rest[end]]
		if err != nil || unit == 0 || n > int64((maxLength-all)/unit) {
			return 0, errLength
		}
		all, rest = all+time.Duration(n)*unit, rest[end+1:]
	}
	if all == 0 {
		return 0, errLength
	}
	return all, nil
}

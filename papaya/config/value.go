package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// set stores a value in its field, or returns what was expected.
func (s setting) set(c *Config, value any) error {
	to := s.field(c)
	if err := s.read(to, value); err != nil {
		return err
	}
	if s.check != nil {
		return s.check(to)
	}
	return nil
}

func (s setting) read(to, value any) error {
	switch to := to.(type) {
	case *string:
		v, ok := value.(string)
		if !ok {
			return expected("text in quotes", value)
		}
		*to = v
	case *bool:
		v, ok := value.(bool)
		if !ok {
			return expected("true or false", value)
		}
		*to = v
	case *int:
		n, err := s.number(value)
		if err != nil {
			return err
		}
		*to = n
	case *time.Duration:
		d, err := duration(value)
		if err != nil {
			return err
		}
		*to = d
	case *[]string:
		list, ok := value.([]any)
		if !ok {
			return expected(`a list as ["a", "b"]`, value)
		}
		var out []string
		for _, v := range list {
			text, ok := v.(string)
			if !ok {
				return expected("text in quotes in the list", v)
			}
			out = append(out, text)
		}
		*to = out
	default:
		// The table of settings is wrong. Default fails at once.
		panic(fmt.Sprintf("config: no way to read a %T", to))
	}
	return nil
}

func expected(what string, got any) error {
	return fmt.Errorf("expected %s, got %s", what, literal(got))
}

// number parses a whole number; a number of bytes may be "64 KiB".
func (s setting) number(value any) (int, error) {
	if n, ok := value.(int64); ok && int64(int(n)) == n {
		return int(n), nil
	}
	if s.unit != bytes {
		return 0, expected("a whole number", value)
	}
	text, ok := value.(string)
	if !ok {
		return 0, expected(`a size as "64 KiB"`, value)
	}
	digits, suffix, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(digits, 10, 31)
	by, known := map[string]uint64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[suffix]
	if err != nil || !known || n*by > 1<<40 {
		return 0, expected(`a size as "64 KiB"`, value)
	}
	return int(n * by), nil
}

// forever is the duration 0, which means no limit and is written "forever".
const forever = 0

// duration parses "forever", "90d", or a duration in Go's syntax.
func duration(value any) (time.Duration, error) {
	text, ok := value.(string)
	if ok && text == "forever" {
		return forever, nil
	}
	if days, found := strings.CutSuffix(text, "d"); ok && found {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < 0 {
		return 0, expected(`a time as "90d", "1h30m" or "250ms"`, value)
	}
	return d, nil
}

// Duration formats a duration for duration to parse, in days if possible.
func Duration(d time.Duration) string {
	switch {
	case d == forever:
		return "forever"
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d%time.Minute == 0 && d > time.Minute:
		return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"),
			"h0m") + map[bool]string{true: "h"}[d%time.Hour == 0]
	}
	return d.String()
}

// show formats a field, to compare it.
func show(field any) string {
	switch f := field.(type) {
	case *string:
		return *f
	case *bool:
		return strconv.FormatBool(*f)
	case *int:
		return strconv.Itoa(*f)
	case *time.Duration:
		return f.String()
	case *[]string:
		return fmt.Sprintf("%q", *f)
	}
	return ""
}

// literal formats a value as in TOML. It is for messages, so a long value is cut.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		const most = 60
		if len(v) > most {
			return strconv.Quote(v[:most]) + "…"
		}
		return strconv.Quote(v)
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, literal(e))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case map[string]any:
		return "{" + strings.Repeat(" … ", min(1, len(v))) + "}"
	}
	return fmt.Sprint(v)
}

package symbols

import (
	"regexp"
	"strings"
)

// bodyName splits the name of a struct or function that package emit made for a body.
var bodyName = regexp.MustCompile(`^(.+?)__(?:(task|child|then|callback)|on_(\w+?))[0-9]+(?:_post)?$`)

// EveName is the C++ name of the function or body of Eve that a mangled name speaks of. It has two
// underscores inside. In the name of a template of the runtime it is an argument: the body, if
// there is one. It is empty for a name without any, as of the runtime's own functions.
func EveName(mangled string) string {
	first := ""
	for i := 0; i < len(mangled); i++ {
		n, digits := 0, i
		for ; i < len(mangled) && mangled[i] >= '0' && mangled[i] <= '9'; i++ {
			n = min(n*10+int(mangled[i]-'0'), len(mangled))
		}
		if i == digits {
			continue
		}
		if n == 0 || i+n > len(mangled) {
			i--
			continue
		}
		name := mangled[i : i+n]
		if strings.Index(name, "__") > 0 {
			if bodyName.MatchString(name) {
				return name
			}
			if first == "" {
				first = name
			}
		}
		i += n - 1
	}
	return first
}

// Dotted is a C++ name of Eve's code as the program has it: chat__room__say is chat.room.say.
func Dotted(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "__", "."), "_0_", "__")
}

// Words says what a C++ name of Eve's code is, for readers: "chat.main, on data".
func Words(name string) string {
	m := bodyName.FindStringSubmatch(name)
	if m == nil {
		return Dotted(name)
	}
	in := Dotted(m[1])
	switch m[2] {
	case "":
		return in + ", on " + m[3]
	case "then":
		return in + ", behind <-"
	case "child":
		return in + ", @ in finish"
	case "callback":
		return in + ", callback"
	}
	return in + ", @"
}

// Argument is the type in the compiler's name of a template function: "... [with F = T; ..]".
func Argument(pretty string) string {
	_, rest, found := strings.Cut(pretty, " = ")
	if !found {
		return pretty
	}
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', '}':
			depth--
		case ']':
			if depth--; depth < 0 {
				return rest[:i]
			}
		case ';':
			if depth <= 0 {
				return rest[:i]
			}
		}
	}
	return rest
}

// Code is the name of a body as a reader of the program knows it.
func Code(pretty string) string {
	f := Argument(pretty)
	switch {
	case strings.HasPrefix(f, "start_("):
		return "main"
	case strings.HasPrefix(f, "eve::run("), strings.HasPrefix(f, "run("):
		return "start of the program"
	case strings.HasPrefix(f, "eve::"), strings.Contains(f, "::"):
		return "the runtime"
	}
	return Words(f)
}

var (
	// functions of the runtime and of the standard library, which may have Eve's types as arguments
	ofOthers = regexp.MustCompile(`^_ZZ?N?K?(?:3eve|S)`)
	// templates of the runtime whose functions are the body that they have as an argument
	runsBody = regexp.MustCompile(`^_ZZ?NK?3eve(?:7task_of|10handler_of|12continuation|8run_part)I`)
	// what the compiler appends to parts of functions
	partOf = regexp.MustCompile(`\.(?:cold|part|isra|constprop|lto_priv)[.0-9]*`)
)

// Function is the name of a function as a reader of the program knows it, and whether it is of
// Eve's text. One of the runtime or of a library is plain C++, without arguments.
func Function(mangled string) (name string, eve bool) {
	mangled = partOf.ReplaceAllString(mangled, "")
	if !ofOthers.MatchString(mangled) || runsBody.MatchString(mangled) {
		if name := EveName(mangled); name != "" {
			return Words(name), true
		}
	}
	return plain(mangled), false
}

// plain is the name in a mangled name, without arguments of templates and functions.
func plain(mangled string) string {
	rest, found := strings.CutPrefix(mangled, "_Z")
	if !found {
		return mangled
	}
	rest = strings.TrimLeft(rest, "ZLN")
	rest = strings.TrimPrefix(rest, "K")
	var parts []string
	for len(rest) > 0 {
		switch {
		case strings.HasPrefix(rest, "12_GLOBAL__N_1"):
			rest = rest[len("12_GLOBAL__N_1"):]
			continue
		case strings.HasPrefix(rest, "St"):
			parts, rest = append(parts, "std"), rest[2:]
			continue
		case rest[0] == 'L':
			rest = rest[1:]
			continue
		}
		n, digits := 0, 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			n = min(n*10+int(rest[digits]-'0'), len(rest))
			digits++
		}
		if digits == 0 || n == 0 || digits+n > len(rest) {
			break
		}
		parts, rest = append(parts, rest[digits:digits+n]), rest[digits+n:]
	}
	if len(parts) == 0 {
		return mangled
	}
	return strings.Join(parts, "::")
}

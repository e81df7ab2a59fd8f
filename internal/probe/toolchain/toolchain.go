// Package toolchain finds the tools that models need and builds models with them.
//
// Lookup finds a tool, a library or a package of a language. Build makes the program of a model
// below the output folder, unless an earlier build was made from the same files by the same tools.
package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Found is a tool of this machine that satisfies one entry of a model's needs.
type Found struct {
	Need    string // as it was asked for: "java >= 25"
	Version string // "25.0.1"; empty if the tool does not print one
	// Path is that of the program. For a library it is the name of its header, and for a package
	// of a language the path of the program that has the package.
	Path string
	Env  []string // variables that programs which use the tool get: JAVA_HOME=...
}

// A Missing is something that this machine does not have. What needs it is skipped with this
// reason.
type Missing struct {
	Need    string
	Because string // "found 17.0.15"; empty if the thing is just absent
	Install string // a command, or a sentence
}

// Error says what is missing and how to install it.
func (m *Missing) Error() string {
	if m.Because != "" {
		return fmt.Sprintf("needs %s (%s): %s", m.Need, m.Because, m.Install)
	}
	return fmt.Sprintf("needs %s: %s", m.Need, m.Install)
}

// A tool says how one program is looked for: on PATH first, then in further folders.
type tool struct {
	version []string // the arguments with which it prints its version; nil: it prints none
	also    []string // further folders: ~ is the home directory, {out} the output folder
	install string   // what a user can do if it is missing
}

// tools are the programs that need more than a look at PATH and the argument --version.
var tools = map[string]tool{
	"cc":  {[]string{"--version"}, nil, "apt-get install gcc libc6-dev"},
	"c++": {[]string{"--version"}, nil, "apt-get install g++"},
	"eve": {[]string{"version"}, []string{"{out}/bin"}, "make out/bin/eve"},
	"go": {[]string{"version"}, []string{"/usr/local/go/bin"},
		"install Go 1.26 or newer"},
	"node": {[]string{"--version"}, nil, "apt-get install nodejs"},
	"mvn":  {nil, nil, "apt-get install maven"},
	"npm":  {[]string{"--version"}, nil, "apt-get install npm"},
	"erl": {[]string{"-noshell", "-eval",
		`io:format("~s~n",[erlang:system_info(otp_release)]),halt().`}, nil,
		"apt-get install erlang-base"},
	"erlc": {nil, nil, "apt-get install erlang-base"},
	"java": {[]string{"-version"}, []string{"$JAVA_HOME/bin", "{out}/tools/jdk/bin",
		"/usr/lib/jvm/*/bin"}, "make toolchains puts a JDK into out/tools/jdk"},
	"lwip-config": {[]string{"--version"}, []string{"{out}/tools/lwip"},
		"make toolchains puts lwIP's source, of Debian's package, into out/tools/lwip"},
	"tapip-config": {[]string{"--version"}, []string{"{out}/tools/tapip"},
		"make toolchains puts tapip's source, of GitHub, into out/tools/tapip"},
	"cargo": {[]string{"--version"}, []string{"~/.cargo/bin", "/usr/local/cargo/bin"},
		"install Rust with rustup, or apt-get install cargo"},
	"ngircd":   {[]string{"--version"}, []string{"/usr/sbin"}, "apt-get install ngircd"},
	"inspircd": {[]string{"--version"}, []string{"/usr/sbin"}, "apt-get install inspircd"},
	"postgres": {[]string{"--version"}, []string{"/usr/lib/postgresql/*/bin"},
		"apt-get install postgresql"},
	"redis-server": {[]string{"--version"}, nil, "apt-get install redis-server"},
	"python3":      {[]string{"--version"}, nil, "apt-get install python3"},
	"ruby":         {[]string{"--version"}, nil, "apt-get install ruby"},
	"ghc":          {[]string{"--version"}, nil, "apt-get install ghc"},
}

// A keeper is the program that knows whether a package of its language is installed. A package of
// the distribution is known only to the distribution's own program, which need not be the first on
// PATH.
type keeper struct {
	program string
	tool    // its version are the arguments that print the package's version, or fail
}

// packages are the packages of languages that a model may need, by their names.
var packages = map[string]keeper{
	"gevent": {"python3", tool{[]string{"-c", "import gevent; print(gevent.__version__)"},
		[]string{"/usr/bin"}, "apt-get install python3-gevent"}},
	"cool.io": {"ruby", tool{[]string{"-e", "require 'cool.io'; puts Coolio::VERSION"},
		[]string{"/usr/bin"}, "apt-get install ruby-cool.io"}},
	"mochiweb": {"erl", tool{[]string{"-noshell", "-eval", "application:load(mochiweb), " +
		"{module, _} = code:ensure_loaded(httpd_util), " +
		"{ok, V} = application:get_key(mochiweb, vsn), io:put_chars(V), halt()."},
		[]string{"/usr/bin"}, "apt-get install erlang-mochiweb erlang-inets"}},
	"haskell-network": {"ghc-pkg", tool{[]string{"--simple-output", "field", "network", "version"},
		[]string{"/usr/bin"}, "apt-get install libghc-network-dev"}},
}

// A library says how "pkg:NAME" is looked for if pkg-config does not know it: by its header.
// Debian's libev, for example, has no .pc file.
type library struct{ header, install string }

// libraries are those whose header or Debian package is not named like the library.
var libraries = map[string]library{
	"liburing": {"liburing.h", "apt-get install liburing-dev"},
	"libev":    {"ev.h", "apt-get install libev-dev"},
	"libuv":    {"uv.h", "apt-get install libuv1-dev"},
	"sqlite3":  {"sqlite3.h", "apt-get install libsqlite3-dev"},
	"tbb":      {"tbb/tbb.h", "apt-get install libtbb-dev"},
}

// versionLimit is a net: a JVM or an Erlang takes seconds to print its version on a busy machine. A
// tool that takes longer counts as missing.
const versionLimit = 5 * time.Minute

var (
	lookups  sync.Map // outRoot + "\x00" + need -> func() (Found, error), which looks once
	number   = regexp.MustCompile(`[0-9]+(\.[0-9]+)*`)
	needForm = regexp.MustCompile(`^(pkg:)?([a-zA-Z0-9+._-]+)(?:\s*>=\s*([0-9]+(?:\.[0-9]+)*))?$`)
)

// Lookup finds the tool that one entry of a model's needs names: "cc", "java >= 25",
// "pkg:liburing". The laboratory's own tools are below outRoot/tools. If the tool is not here, the
// error is a *Missing. Lookup remembers its answers as long as the process lives.
func Lookup(outRoot, need string) (Found, error) {
	ask, _ := lookups.LoadOrStore(outRoot+"\x00"+need, sync.OnceValues(func() (Found, error) {
		return lookup(outRoot, need)
	}))
	return ask.(func() (Found, error))()
}

// lookup is Lookup without its memory.
func lookup(outRoot, need string) (Found, error) {
	m := needForm.FindStringSubmatch(strings.TrimSpace(need))
	if m == nil {
		return Found{},
			fmt.Errorf("needs %q: expected a tool, \"tool >= version\" or \"pkg:library\"", need)
	}
	name, least := m[2], m[3]
	if k, known := packages[name]; known && m[1] != "" {
		return lookupProgram(outRoot, need, k.program, least, k.tool)
	}
	if m[1] != "" {
		return lookupLibrary(need, name, least)
	}
	t, known := tools[name]
	if !known {
		t = tool{version: []string{"--version"}, install: "install it and put it on PATH"}
	}
	return lookupProgram(outRoot, need, name, least, t)
}

// lookupProgram returns the first candidate that prints its version. If a least version is asked
// for, it returns the newest candidate.
func lookupProgram(outRoot, need, name, least string, t tool) (Found, error) {
	best, because := Found{}, ""
	for _, path := range candidates(outRoot, name, t) {
		version, err := askVersion(path, t.version)
		switch {
		case err != nil:
			because = err.Error()
		case least != "" && !atLeast(version, least):
			because = "found " + version
		case best.Path == "" || (least != "" && !atLeast(best.Version, version)):
			best = Found{Need: need, Version: version, Path: path}
		}
	}
	if best.Path == "" {
		return Found{}, &Missing{Need: need, Because: because, Install: t.install}
	}
	if name == "java" {
		best.Env = []string{"JAVA_HOME=" + filepath.Dir(filepath.Dir(best.Path))}
	}
	return best, nil
}

// candidates lists the programs of this name: first the one on PATH, then those in the tool's
// folders. A java without a javac beside it is left out: it is a run time, which cannot build.
func candidates(outRoot, name string, t tool) []string {
	var paths []string
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !isProgram(real) {
			return
		}
		if name == "java" {
			if path = real; !isProgram(filepath.Join(filepath.Dir(real), "javac")) {
				return
			}
		}
		for _, p := range paths {
			if p == path {
				return
			}
		}
		paths = append(paths, path)
	}
	if path, err := exec.LookPath(name); err == nil {
		add(path)
	}
	home, _ := os.UserHomeDir()
	expand := strings.NewReplacer("~", home, "{out}", outRoot, "$JAVA_HOME", os.Getenv("JAVA_HOME"))
	for _, folder := range t.also {
		matches, _ := filepath.Glob(filepath.Join(expand.Replace(folder), name))
		for _, path := range matches {
			if abs, err := filepath.Abs(path); err == nil {
				add(abs)
			}
		}
	}
	return paths
}

// isProgram reports whether path is a file that can be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// askVersion runs the program and returns the first number that looks like a version.
func askVersion(path string, args []string) (string, error) {
	if args == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", path, args[0], err)
	}
	return number.FindString(string(out)), nil
}

// atLeast reports whether version is least or newer. Both are dotted numbers; a part that is absent
// counts as 0.
func atLeast(version, least string) bool {
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range max(len(have), len(want)) {
		var h, w int
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		if i < len(want) {
			w, _ = strconv.Atoi(want[i])
		}
		if h != w {
			return h > w
		}
	}
	return true
}

// lookupLibrary asks pkg-config for a library, and then the C compiler for its header.
func lookupLibrary(need, name, least string) (Found, error) {
	lib, known := libraries[name]
	if !known {
		lib = library{name + ".h", fmt.Sprintf("apt-get install %s-dev", name)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pkg-config", "--modversion",
		name).Output(); err == nil {
		version := strings.TrimSpace(string(out))
		if least != "" && !atLeast(version, least) {
			return Found{}, &Missing{Need: need, Because: "found " + version, Install: lib.install}
		}
		return Found{Need: need, Version: version, Path: lib.header}, nil
	}
	cmd := exec.CommandContext(ctx, "cc", "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = bytes.NewReader([]byte("#include <" + lib.header + ">\n"))
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return Found{}, &Missing{Need: need, Because: "no cc to look with",
				Install: tools["cc"].install}
		}
		return Found{}, &Missing{Need: need, Install: lib.install}
	}
	if least != "" {
		return Found{}, &Missing{Need: need, Because: "its version is not known",
			Install: lib.install}
	}
	return Found{Need: need, Path: lib.header}, nil
}

// environ returns the environment in which a model is built and run: that of this process, the
// variables of the tools, the tools' folders first on PATH, and the variables of the model.
func environ(found []Found, model map[string]string) []string {
	env := os.Environ()
	path := os.Getenv("PATH")
	for _, f := range found {
		env = append(env, f.Env...)
		if !filepath.IsAbs(f.Path) { // the name of a library's header
			continue
		}
		first, err := LookPath(filepath.Base(f.Path), "", []string{"PATH=" + path})
		if err != nil || first != f.Path {
			path = filepath.Dir(f.Path) + string(os.PathListSeparator) + path
		}
	}
	env = append(env, "PATH="+path)
	for key, value := range model {
		env = append(env, key+"="+value)
	}
	return env
}

// LookPath finds a command on the PATH of env. A name with a slash is a path relative to dir.
// exec.Command would look on the PATH of this process instead.
func LookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for i := len(env) - 1; i >= 0; i-- {
		list, ok := strings.CutPrefix(env[i], "PATH=")
		if !ok {
			continue
		}
		for _, d := range filepath.SplitList(list) {
			if path := filepath.Join(d, name); isProgram(path) {
				return path, nil
			}
		}
		break
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

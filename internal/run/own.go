package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// anyIRC is the transcript that every server of IRC passes. A server of one's own that is told no
// {data} keeps no promise of the chat about what is kept.
const anyIRC = "irc"

// AddOwn puts a user's own server, which has no folder among the services, back into a tree that
// was read from a record.
func AddOwn(tree *manifest.Tree, own *record.Own) {
	if own == nil {
		return
	}
	if s := tree.Service(own.Service); s != nil && s.Model(own.Name) == nil {
		s.Models = append(s.Models, &manifest.Model{
			Name: own.Name, Service: own.Service, Dir: own.Dir, Language: "own", Model: "server",
			Summary: own.Summary,
			Run:     own.Command, Ready: manifest.ReadyConnect, WarmUp: time.Second, Hosts: s.Hosts,
		})
		m := s.Models[len(s.Models)-1]
		if s.Protocol == manifest.Chat && !m.Holds("{data}") {
			m.Conform = []string{anyIRC}
		}
		if s.Hosts == manifest.Tap { // it listens on no port that this kernel knows
			m.Ready = manifest.ReadyLine
		}
	}
}

// quote writes a TOML string. JSON's escapes are among TOML's, but for DEL, which TOML
// wants escaped.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(bytes.ReplaceAll(text, []byte{0x7f}, []byte(`\u007f`)))
}

// generated is an experiment that has no file, such as the one of `interleave bench`, as a file.
var generated = template.Must(template.New("experiment").Funcs(template.FuncMap{
	"q": quote,
	"list": func(words []string) string {
		var b bytes.Buffer
		for i, w := range words {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(w))
		}
		return b.String()
	},
	"metrics": func(list []manifest.Metric) (out []string) {
		for _, m := range list {
			out = append(out, string(m))
		}
		return out
	},
	"conditions": func(list []manifest.Condition) (out []string) {
		for _, c := range list {
			out = append(out, string(c))
		}
		return out
	},
}).Parse(`# Written by interleave: the experiment had no file.
title    = {{q .Title}}
source   = {{q .Source}}
question = {{q .Question}}
expect   = {{q .Expect}}
setup    = [{{list .Setup}}]
service  = {{q .Service}}
models   = [{{list .Models}}]
baseline = {{q .Baseline}}
metrics  = [{{list (metrics .Metrics)}}]

[load]
{{- range .Load.Lines}}
{{.}}{{end}}
{{range .Points}}
[[point]]
name = {{q .Name}}
{{end}}
{{- with .Normal}}
[depth.quick]
rounds = {{.Rounds}}
warmup = {{q .WarmUp.String}}
window = {{q .Window.String}}
sample = {{q .Sample.String}}
conditions = [{{list (conditions .Conditions)}}]

[depth.normal]
rounds = {{.Rounds}}
warmup = {{q .WarmUp.String}}
window = {{q .Window.String}}
sample = {{q .Sample.String}}
conditions = [{{list (conditions .Conditions)}}]

[depth.full]
rounds = {{.Rounds}}
warmup = {{q .WarmUp.String}}
window = {{q .Window.String}}
sample = {{q .Sample.String}}
conditions = [{{list (conditions .Conditions)}}]
{{end}}`))

// writeGenerated writes the file of an experiment that has none.
func writeGenerated(e *manifest.Experiment, to string) error {
	var text bytes.Buffer
	if err := generated.Execute(&text, e); err != nil {
		return fmt.Errorf("write the experiment %s: %w", e.Name, err)
	}
	dir := filepath.Join(to, "experiments", e.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the experiment %s: %w", e.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "experiment.toml"), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the experiment %s: %w", e.Name, err)
	}
	return nil
}

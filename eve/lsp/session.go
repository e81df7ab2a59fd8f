package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
)

// initialize answers the first request: the folders, the encoding, and what this server can do.
func (s *server) initialize(m *message) error {
	var p initializeParams
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return s.respond(m.ID, nil, &rpcError{invalidParams, err.Error()})
	}
	s.state = serving
	s.flat = !p.Capabilities.TextDocument.DocumentSymbol.Hierarchical
	s.watches = p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration
	v := *s.view
	if slices.Contains(p.Capabilities.General.PositionEncodings, utf8s) {
		v.encoding = utf8s
	}
	if p.WorkspaceFolders == nil && p.RootURI != nil {
		p.WorkspaceFolders = []folder{{*p.RootURI}}
	}
	v.folders = changedFolders(nil, p.WorkspaceFolders, nil)
	s.view = &v
	return s.respond(m.ID, initializeResult{capabilities(v.encoding),
		serverInfo{"eve lsp", s.options.Version}}, nil)
}

// capabilities say what this server can do.
func capabilities(e encoding) map[string]any {
	return map[string]any{
		"positionEncoding": e,
		"textDocumentSync": map[string]any{
			"openClose": true, "change": 2, "save": map[string]any{"includeText": false},
		},
		"callHierarchyProvider":      true,
		"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
		"completionProvider":         map[string]any{"triggerCharacters": []string{"."}},
		"definitionProvider":         true,
		"documentFormattingProvider": true,
		"documentHighlightProvider":  true,
		"documentSymbolProvider":     true,
		"foldingRangeProvider":       true,
		"hoverProvider":              true,
		"inlayHintProvider":          true,
		"referencesProvider":         true,
		"renameProvider":             map[string]any{"prepareProvider": true},
		"selectionRangeProvider":     true,
		"semanticTokensProvider": map[string]any{
			"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers},
			"full":   true, "range": true,
		},
		"signatureHelpProvider": map[string]any{
			"triggerCharacters": []string{"(", ","}, "retriggerCharacters": []string{"="},
		},
		"typeDefinitionProvider":  true,
		"workspaceSymbolProvider": true,
		"workspace": map[string]any{
			"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
		},
	}
}

// changedFolders returns the folders without those removed and with those added.
func changedFolders(folders []string, added, removed []folder) []string {
	var all []string
	gone := map[string]bool{}
	for _, f := range removed {
		gone[pathOf(f.URI)] = true
	}
	for _, f := range folders {
		if !gone[f] {
			all = append(all, f)
		}
	}
	for _, f := range added {
		if path := pathOf(f.URI); onDisk(path) && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// notified handles a notification. Those that it does not know are ignored, as the protocol wants
// it.
func (s *server) notified(m *message) error {
	if m.Method == "exit" {
		return errExit
	}
	if s.state != serving {
		return nil
	}
	switch m.Method {
	case "initialized":
		return s.watch()
	case "$/cancelRequest":
		return s.cancelled(m.Params)
	case "textDocument/didOpen":
		return take(s, m, s.open)
	case "textDocument/didChange":
		return take(s, m, s.change)
	case "textDocument/didClose":
		return take(s, m, s.close)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.reread()
	case "workspace/didChangeWorkspaceFolders":
		return take(s, m, func(p foldersParams) error {
			v := *s.view
			v.folders = changedFolders(v.folders, p.Event.Added, p.Event.Removed)
			s.view = &v
			s.reread()
			return nil
		})
	}
	return nil
}

// watch asks the client to tell of files that others change, as git does. A client that cannot be
// asked may do so by itself.
func (s *server) watch() error {
	if !s.watches {
		return nil
	}
	params, err := json.Marshal(registrationParams{[]registration{{
		ID: "files", Method: "workspace/didChangeWatchedFiles",
		Options: map[string]any{"watchers": []any{map[string]any{"globPattern": "**/*.eve"}}},
	}}})
	if err != nil {
		return err
	}
	return writeMessage(s.out, &message{ID: json.RawMessage(`"files"`),
		Method: "client/registerCapability", Params: params})
}

// take reads the parameters of a notification, which has no response: what is wrong with them is
// logged.
func take[P any](s *server, m *message, f func(P) error) error {
	var p P
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.ignored("%s: %v", m.Method, err)
		return nil
	}
	return f(p)
}

// ignored logs why a notification has no effect. The session goes on.
func (s *server) ignored(format string, args ...any) {
	fmt.Fprintf(s.options.Log, "eve lsp: "+format+"\n", args...)
}

// open adds a document. Its diagnostics are due at once.
func (s *server) open(p openParams) error {
	d := newDocument(p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text)
	s.put(d)
	s.checkDirty()
	return nil
}

// put makes d the newest version of its document.
func (s *server) put(d *document) {
	s.view = s.view.with(d)
	s.touched(d.path)
}

// touched notes that the diagnostics of the document at path, and of those that import it, may
// have changed.
func (s *server) touched(path string) {
	for p, d := range s.view.docs {
		if p == path || !d.isChecked() {
			s.dirty[p] = true
		}
	}
}

// change applies the changes of a document, one after the other.
func (s *server) change(p changeParams) error {
	old := s.view.docs[pathOf(p.TextDocument.URI)]
	if old == nil {
		s.ignored("%s was changed, and is not open", p.TextDocument.URI)
		return nil
	}
	text := old.file.Text
	file := old.file
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			text = c.Text
		} else {
			at := s.view.encoding.part(file, *c.Range)
			text = text[:at.Start] + c.Text + text[at.End:]
		}
		file = newFile(old.path, text)
	}
	s.put(newDocument(old.uri, p.TextDocument.Version, text))
	s.due = s.options.After(delay)
	return nil
}

// close forgets a document: from now on the file on the disk counts.
func (s *server) close(p documentParams) error {
	d := s.view.docs[pathOf(p.TextDocument.URI)]
	if d == nil {
		return nil
	}
	s.view = s.view.without(d.path)
	delete(s.dirty, d.path)
	s.touched(d.path)
	s.due = s.options.After(delay)
	return s.notify("textDocument/publishDiagnostics",
		publishParams{URI: d.uri, Diagnostics: []diagnostic{}})
}

// reread forgets all that was read from the disk.
func (s *server) reread() {
	s.view = s.view.afresh()
	for path := range s.view.docs {
		s.dirty[path] = true
	}
	s.due = s.options.After(delay)
}

package lsp

// The structures of LSP 3.17 that this server reads and writes, with the names of the
// specification.

type documentID struct {
	URI string `json:"uri"`
}

type versionedID struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
}

// documentParams are those of requests about a whole document.
type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

// placeParams are those of requests about a place in a document.
type placeParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
}

// rangeParams are those of requests about a part of a document.
type rangeParams struct {
	TextDocument documentID `json:"textDocument"`
	Range        span       `json:"range"`
}

type initializeParams struct {
	RootURI          *string  `json:"rootUri"`
	WorkspaceFolders []folder `json:"workspaceFolders"`
	Capabilities     struct {
		General struct {
			PositionEncodings []encoding `json:"positionEncodings"`
		} `json:"general"`
		TextDocument struct {
			DocumentSymbol struct {
				Hierarchical bool `json:"hierarchicalDocumentSymbolSupport"`
			} `json:"documentSymbol"`
		} `json:"textDocument"`
		Workspace struct {
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
	} `json:"capabilities"`
}

type folder struct {
	URI string `json:"uri"`
}

// A registration asks the client for notifications of one kind.
type registration struct {
	ID      string `json:"id"`
	Method  string `json:"method"`
	Options any    `json:"registerOptions"`
}

type registrationParams struct {
	Registrations []registration `json:"registrations"`
}

type initializeResult struct {
	Capabilities map[string]any `json:"capabilities"`
	ServerInfo   serverInfo     `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type openParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument   versionedID `json:"textDocument"`
	ContentChanges []change    `json:"contentChanges"`
}

// A change replaces a part of a document, or all of it if Range is nil.
type change struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

type foldersParams struct {
	Event struct {
		Added   []folder `json:"added"`
		Removed []folder `json:"removed"`
	} `json:"event"`
}

// The severities of diagnostics.
const (
	severityError   = 1
	severityWarning = 2
)

// tagUnnecessary marks code that is not needed; editors show it in grey.
const tagUnnecessary = 1

type diagnostic struct {
	Range    span      `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Tags     []int     `json:"tags,omitempty"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type symbol struct {
	Name           string   `json:"name"`
	Detail         string   `json:"detail,omitempty"`
	Kind           int      `json:"kind"`
	Range          span     `json:"range"`
	SelectionRange span     `json:"selectionRange"`
	Children       []symbol `json:"children,omitempty"`
}

// A symbolInformation is a symbol in a list without levels.
type symbolInformation struct {
	Name      string   `json:"name"`
	Kind      int      `json:"kind"`
	Location  location `json:"location"`
	Container string   `json:"containerName,omitempty"`
}

// The kinds of symbols.
const (
	symbolModule     = 2
	symbolMethod     = 6
	symbolField      = 8
	symbolEnum       = 10
	symbolInterface  = 11
	symbolFunction   = 12
	symbolVariable   = 13
	symbolConstant   = 14
	symbolEnumMember = 22
	symbolStruct     = 23
)

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) markup { return markup{"markdown", text} }

type hover struct {
	Contents markup `json:"contents"`
	Range    span   `json:"range"`
}

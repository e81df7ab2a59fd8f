package lsp

import "encoding/json"

// A method answers one kind of request.
type method func(r *request, params json.RawMessage) (any, error)

// methods are the requests that this server answers.
var methods = map[string]method{
	"callHierarchy/incomingCalls":       with((*request).incomingCalls),
	"callHierarchy/outgoingCalls":       with((*request).outgoingCalls),
	"textDocument/codeAction":           with((*request).codeActions),
	"textDocument/completion":           with((*request).completion),
	"textDocument/definition":           with((*request).definition),
	"textDocument/documentHighlight":    with((*request).highlights),
	"textDocument/documentSymbol":       with((*request).documentSymbols),
	"textDocument/foldingRange":         with((*request).foldingRanges),
	"textDocument/formatting":           with((*request).formatting),
	"textDocument/hover":                with((*request).hover),
	"textDocument/inlayHint":            with((*request).inlayHints),
	"textDocument/prepareCallHierarchy": with((*request).prepareCalls),
	"textDocument/prepareRename":        with((*request).prepareRename),
	"textDocument/references":           with((*request).references),
	"textDocument/rename":               with((*request).rename),
	"textDocument/selectionRange":       with((*request).selectionRanges),
	"textDocument/semanticTokens/full":  with((*request).tokensFull),
	"textDocument/semanticTokens/range": with((*request).tokensRange),
	"textDocument/signatureHelp":        with((*request).signatureHelp),
	"textDocument/typeDefinition":       with((*request).typeDefinition),
	"workspace/symbol":                  with((*request).workspaceSymbols),
}

// with reads the parameters of a request.
func with[P any](answer func(*request, P) (any, error)) method {
	return func(r *request, params json.RawMessage) (any, error) {
		var p P
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &rpcError{invalidParams, err.Error()}
		}
		return answer(r, p)
	}
}

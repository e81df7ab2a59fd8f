// Package probe builds one server, starts it, watches it, stops it, and holds it against its
// service's contract.
package probe

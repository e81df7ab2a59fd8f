// Package servers runs the programs of testdata/server, and other programs driven by events, as
// whole processes. Its tests are their clients, send them signals, and check how they end.
package servers

// Package servers runs the programs of testdata/server, and others that live by events, as whole
// processes: its tests are their clients, send them signals, and look at how they end.
package servers

module interleave/gonet

go 1.26.0

// The links of other systems than Linux need x/sys. The other four are for tests only.
require (
	github.com/beevik/ntp v1.6.0
	github.com/coder/websocket v1.8.15
	golang.org/x/crypto v0.58.0
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.49.0
)

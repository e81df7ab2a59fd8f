module interleave/gonet/wintun

go 1.26.0

require (
	golang.org/x/sys v0.49.0
	golang.zx2c4.com/wintun v0.0.0-20230126152724-0fa3db229ce2
	interleave/gonet v0.0.0
)

replace interleave/gonet => ..

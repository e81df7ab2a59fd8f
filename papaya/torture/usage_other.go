//go:build !linux

package torture

// usage is zero: this system does not tell.
func (p *process) usage() usage { return usage{} }

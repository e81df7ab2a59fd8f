package socks

// dialErrors is empty: Plan 9 has no numbers for the errors of dials.
var dialErrors []struct {
	err  error
	code Code
}

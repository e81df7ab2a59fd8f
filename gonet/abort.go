package gonet

// Abort ends the stack as Close does, and tells the peers: every connection is reset first. A program that ends should
// call it. The kernel closes what a program leaves behind; behind a tap there is nobody left who could.
func (s *Stack) Abort() error {
	var conns []*Conn
	err := s.claim(func() {
		for _, c := range s.conns {
			conns = append(conns, c)
		}
	})
	if err == nil {
		for _, c := range conns {
			_ = c.Abort() // it may have ended meanwhile
		}
	}
	return s.Close()
}

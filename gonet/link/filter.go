package link

// Filter removes the frames that taken takes from a batch that was read, and returns how many are
// left, in front and in order. Frames are swapped, not overwritten, since a link may use them to
// find its buffers.
func Filter(batch []Frame, taken func(*Frame) bool) int {
	kept := 0
	for i := range batch {
		if taken(&batch[i]) {
			continue
		}
		batch[kept], batch[i] = batch[i], batch[kept]
		kept++
	}
	return kept
}

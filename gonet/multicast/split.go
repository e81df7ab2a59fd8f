package multicast

import "interleave/gonet/wire"

// Split divides records among messages of at most room bytes each, as PutGroupReport writes them. A
// record that is too large is divided, too. One that excludes sources is cut instead: more is then
// received than is wanted, which the host filters itself (RFC 3376 section 4.2.16).
func Split(records []wire.GroupRecord, room int) (messages [][]wire.GroupRecord) {
	room -= wire.ICMPLen
	var message []wire.GroupRecord
	left := room
	for _, r := range records {
		for _, part := range divide(r, room) {
			if part.Len() > left {
				messages = append(messages, message)
				message, left = nil, room
			}
			message = append(message, part)
			left -= part.Len()
		}
	}
	return append(messages, message)
}

// divide divides a record into parts of at most room bytes.
func divide(r wire.GroupRecord, room int) (parts []wire.GroupRecord) {
	bare := wire.GroupRecord{Group: r.Group}
	size := bare.Len()
	// A source is as long as the group.
	most := (room - size) / (size - wire.RecordLen)
	if len(r.Sources) > most && (r.Type == wire.IsExclude || r.Type == wire.ToExclude) {
		r.Sources = r.Sources[:most]
	}
	for len(r.Sources) > most {
		part := r
		part.Sources, r.Sources = r.Sources[:most], r.Sources[most:]
		parts = append(parts, part)
	}
	return append(parts, r)
}

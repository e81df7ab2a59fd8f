package packetdrill

import "interleave/gonet/wire"

// numbers translates between the numbers of a script and those of a connection. In a script the
// sequence numbers of a SYN are what they are, and all others count from the initial ones. Our
// timestamps are translated by those that the script has shown.
type numbers struct {
	ours, theirs     uint32 // the initial sequence numbers
	ourSYN, theirSYN uint32 // the same in the script
	// stamps has the timestamp that the machine has sent for each of the script.
	stamps                  map[uint32]uint32
	firstScript, firstStamp uint32 // the first pair of them
}

// arriving translates a segment of the script into one for the machine.
func (n *numbers) arriving(h *wire.TCP) {
	o := &h.Options
	o.WindowScale = min(o.WindowScale, 14) // as wire.ParseTCP does
	ours := n.ours
	if h.Flags&wire.SYN != 0 {
		ours -= n.ourSYN
		n.theirs, n.theirSYN = h.Seq, h.Seq
	} else {
		h.Seq += n.theirs
	}
	if h.Flags&wire.ACK == 0 {
		h.Ack = 0
		return
	}
	h.Ack += ours
	for i := range o.SACK[:o.SACKCount] {
		o.SACK[i].Left += ours
		o.SACK[i].Right += ours
	}
	if !o.HasTimestamp {
		return
	}
	if stamp, ok := n.stamps[o.TSEcr]; ok {
		o.TSEcr = stamp
	} else if n.stamps != nil {
		o.TSEcr += n.firstStamp - n.firstScript
	}
}

// leaving translates a segment of the machine into one for the script, which expects want.
func (n *numbers) leaving(h, want *wire.TCP) {
	ours, theirs := n.ours, n.theirs
	if h.Flags&wire.SYN != 0 {
		if want.Flags&wire.SYN != 0 {
			n.ourSYN = want.Seq
		}
		ours -= n.ourSYN
		theirs -= n.theirSYN
	}
	h.Seq -= ours
	if h.Flags&wire.ACK != 0 {
		h.Ack -= theirs
	}
	o := &h.Options
	for i := range o.SACK[:o.SACKCount] {
		o.SACK[i].Left -= theirs
		o.SACK[i].Right -= theirs
	}
	if !o.HasTimestamp || !want.Options.HasTimestamp {
		return
	}
	if n.stamps == nil {
		n.stamps = map[uint32]uint32{}
		n.firstScript, n.firstStamp = want.Options.TSVal, o.TSVal
	}
	n.stamps[want.Options.TSVal] = o.TSVal
	o.TSVal += n.firstScript - n.firstStamp
}

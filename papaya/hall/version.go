package hall

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A version is a later text of a message. The state has the places of all, so that histories and
// searches have the newest text of a message in its place, and so that a removal removes all. That
// costs 24 bytes for each, a third of its line in the text at most.
type version struct {
	of, at uint64 // offsets of the message, and of the later text
	size   int
}

// maxVersions bounds the later texts of one message. A guess.
const maxVersions = 100

// A versions has the later texts of all messages, in the order of the messages. Its changes copy
// one block and the list of blocks, so readings keep the versions that they have begun with.
type versions struct {
	// None is empty, and those of one message are in one block.
	blocks [][]version
}

// blockSize is how many versions a block may have before it is divided. A guess.
const blockSize = 512

// versionsOf makes versions of a list in the order of the messages.
func versionsOf(list []version) (all versions) {
	for len(list) > 0 {
		n := min(blockSize/2, len(list))
		for n < len(list) && list[n].of == list[n-1].of {
			n++
		}
		all.blocks = append(all.blocks, list[:n:n])
		list = list[n:]
	}
	return all
}

// find returns the place of a message's versions: the block, and from where to where in it. Without
// a version, it is where the first one belongs.
func (a versions) find(of uint64) (block, from, to int) {
	block = max(0, sort.Search(len(a.blocks), func(i int) bool { return a.blocks[i][0].of > of })-1)
	if block == len(a.blocks) {
		return block, 0, 0
	}
	b := a.blocks[block]
	from = sort.Search(len(b), func(i int) bool { return b[i].of >= of })
	for to = from; to < len(b) && b[to].of == of; {
		to++
	}
	return block, from, to
}

// of returns the versions of one message, the newest last.
func (a versions) of(of uint64) []version {
	block, from, to := a.find(of)
	if from == to {
		return nil
	}
	return a.blocks[block][from:to:to]
}

// all returns all of them.
func (a versions) all() iter.Seq[version] {
	return func(yield func(version) bool) {
		for _, b := range a.blocks {
			for _, v := range b {
				if !yield(v) {
					return
				}
			}
		}
	}
}

func (a versions) empty() bool { return len(a.blocks) == 0 }

// with returns versions with one more, the newest of its message.
func (a versions) with(v version) versions {
	block, _, at := a.find(v.of)
	if a.empty() {
		return versionsOf([]version{v})
	}
	b := slices.Insert(slices.Clip(a.blocks[block]), at, v)
	parts := [][]version{b}
	if len(b) > blockSize {
		parts = versionsOf(b).blocks
	}
	return versions{slices.Concat(a.blocks[:block], parts, a.blocks[block+1:])}
}

// without returns versions without those of one message, and those.
func (a versions) without(of uint64) (left versions, gone []version) {
	block, from, to := a.find(of)
	if from == to {
		return a, nil
	}
	b := a.blocks[block]
	var parts [][]version
	if to-from < len(b) {
		parts = [][]version{slices.Concat(b[:from], b[to:])}
	}
	return versions{slices.Concat(a.blocks[:block], parts, a.blocks[block+1:])}, b[from:to]
}

// addVersion notes a later text.
func (h *Hall) addVersion(v version) {
	h.versions = h.versions.with(v)
	h.revisions++
}

// removeVersions forgets the later texts of a message that is removed, and returns their places.
func (h *Hall) removeVersions(of uint64) (spans []Span) {
	left, gone := h.versions.without(of)
	for _, v := range gone {
		spans = append(spans, Span{v.at, v.size})
	}
	if len(gone) > 0 {
		h.versions = left
		h.revisions++
	}
	return spans
}

// formatVersions returns the tag of a line REDACT: where the later texts were.
func formatVersions(spans []Span) string {
	var list []string
	for _, p := range spans {
		list = append(list, strconv.FormatUint(p.At, 10))
	}
	if list == nil {
		return ""
	}
	return storedEdit + "=" + strings.Join(list, ",")
}

// RemovedVersions returns the offsets of the later texts of the message that a line of the text has
// removed. line has no LF.
func RemovedVersions(line []byte) (list []uint64) {
	s, ok := parseSaid(line, 0)
	if !ok || s.command != "REDACT" {
		return nil
	}
	value := irc.ParseTags(s.tags)[storedEdit]
	for word := range strings.SplitSeq(value, ",") {
		if at, err := strconv.ParseUint(word, 10, 64); err == nil {
			list = append(list, at)
		}
	}
	return list
}

// edits returns the offset of the message whose later text this is.
func (s said) edits() (of uint64, ok bool) {
	rest, ok := strings.CutPrefix(s.tags, storedEdit+"=")
	if !ok || !s.spoken() {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, ";")
	of, err := strconv.ParseUint(number, 10, 64)
	return of, err == nil && of < s.at
}

// changes returns the offset of the message whose later text or removal this is.
func (s said) changes() (of uint64, ok bool) {
	if s.isPreview() { // a preview is none of the author's
		return 0, false
	}
	if of, ok = s.removes(); ok {
		return of, true
	}
	return s.edits()
}

// origin returns the offset of the message of which this is a text, the first or a later one.
func (s said) origin() uint64 {
	if of, ok := s.edits(); ok {
		return of
	}
	return s.at
}

// with returns the message with another text. It has its own source, target and tags.
func (s said) with(n said) said {
	head, _, _ := bytes.Cut(s.body[1:], []byte(" :"))
	again := func(body []byte) []byte {
		_, text, _ := bytes.Cut(body[1:], []byte(" :"))
		return slices.Concat([]byte(":"), head, []byte(" :"), text)
	}
	s.body, s.edited = again(n.body), n.time
	s.more = nil
	for _, l := range n.more {
		s.more = append(s.more, joined{again(l.body), l.same})
	}
	return s
}

// revised returns a message with the newest text of it. It returns false if that is not there. The
// message must be a copy.
func (p *pages) revised(s said) (said, bool) {
	_, edit := s.edits()
	all := p.versions.of(s.origin())
	if len(all) == 0 {
		return s, !edit // without a version of the message, its later texts were removed
	}
	newest := all[len(all)-1]
	if newest.at == s.at {
		return s, true
	}
	n, ok := p.message(newest.at)
	if !ok {
		return s, false
	}
	return s.with(n), true
}

// isNewest says whether the text at an offset is the newest one of a message.
func (p *pages) isNewest(at, of uint64) bool {
	all := p.versions.of(of)
	return len(all) > 0 && all[len(all)-1].at == at
}

// revise gives messages their newest texts.
func (p *pages) revise(lines []said) []said {
	if p.versions.empty() {
		return lines
	}
	out := lines[:0]
	for _, s := range lines {
		if s, ok := p.revised(s); ok {
			out = append(out, s)
		}
	}
	return out
}

// standing keeps those of the messages that a search has found whose text still stands, each in the
// place of the message that it is the text of.
func (p *pages) standing(hits []said) []said {
	var out []said
	for _, s := range hits {
		all := p.versions.of(s.origin())
		_, edit := s.edits()
		switch {
		case len(all) == 0 && !edit:
			out = append(out, s)
		case len(all) > 0 && edit && all[len(all)-1].at == s.at:
			if o, ok := p.message(s.origin()); ok {
				out = append(out, o.own().with(s))
			}
		}
	}
	slices.SortFunc(out, func(a, b said) int { return cmp.Compare(a.at, b.at) })
	return out
}

// unrevised gives messages the texts that they have got while they were read.
func (h *Hall) unrevised(q *question, lines []said) []said {
	if q.revisions == h.revisions {
		return lines
	}
	p := &pages{text: h.whole(), versions: h.versions}
	return p.revise(lines)
}

// wireTags returns the tags of a message in the text as clients are sent them.
func (m *msgids) wireTags(s said) string {
	of, edit := s.edits()
	tags := s.tags
	switch {
	case edit:
		_, rest, _ := strings.Cut(tags, ";")
		return joinTags(editTag+"="+m.of(of), rest)
	case s.isPreview():
		tags = m.previewTags(s)
	case s.command == "REDACT" && strings.HasPrefix(tags, storedEdit+"="):
		_, tags, _ = strings.Cut(tags, ";")
	case strings.Contains(tags, editTag): // of a version that did not check it
		tags = otherTags(irc.ParseTags(tags))
	}
	if s.edited != 0 {
		tags = joinTags(EditedTag+"="+clock(s.edited), tags)
	}
	return tags
}

// correctionOf returns a later text as it is sent to a client that does not know edits.
func (h *Hall) correctionOf(s said) *out {
	of, _ := s.edits()
	head, text, _ := strings.Cut(string(s.body[1:]), " :")
	o := h.outOf(s, "")
	return correction(*o, head, text, h.ids.of(of))
}

package profile

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// CPUTime is the event of a flight recording that counts: a thread has used CPU since its last one,
// in Java or beneath it.
const CPUTime = "jdk.CPUTimeSample"

// mostBytes bounds the text of a recording: 500 samples a second of 128 frames each are
// 200 MB in 10 s.
const mostBytes = 512 << 20

// A recording is the part of the output of `jfr print --json` that is read here.
type recording struct {
	Recording struct {
		Events []struct {
			Type   string `json:"type"`
			Values struct {
				StackTrace *struct {
					Frames []frame `json:"frames"` // the innermost first
				} `json:"stackTrace"`
			} `json:"values"`
		} `json:"events"`
	} `json:"recording"`
}

type frame struct {
	Method struct {
		Type struct {
			Name string `json:"name"` // java/lang/Thread
		} `json:"type"`
		Name string `json:"name"`
	} `json:"method"`
}

// ReadJFR reads the text that the JDK's `jfr print --json --events jdk.CPUTimeSample` makes of a
// flight recording.
func ReadJFR(r io.Reader) (*Node, error) {
	var rec recording
	if err := json.NewDecoder(io.LimitReader(r, mostBytes)).Decode(&rec); err != nil {
		return nil, fmt.Errorf("reading a flight recording: %w", err)
	}
	root := &Node{}
	for _, e := range rec.Recording.Events {
		if e.Type != CPUTime || e.Values.StackTrace == nil {
			continue
		}
		frames := e.Values.StackTrace.Frames
		stack := make([]string, 0, len(frames))
		for i := len(frames) - 1; i >= 0; i-- {
			stack = append(stack, frames[i].name())
		}
		root.Add(stack, 1)
	}
	return root.prune(), nil
}

// name is the method's name with its class's, without packages. The suffix of a class that was made
// at run time is left out.
func (f frame) name() string {
	class := f.Method.Type.Name
	if at := strings.Index(class, "0x"); at > 0 && strings.ContainsRune("+/.", rune(class[at-1])) {
		class = class[:at-1]
	}
	class = class[strings.LastIndexAny(class, "/.")+1:]
	if class == "" && f.Method.Name == "" {
		return "[unknown]"
	}
	return class + "." + f.Method.Name
}

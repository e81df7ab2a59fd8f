package play

import (
	"context"
	"errors"
	"fmt"
	"os"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/probe/transcript"
)

// folderVerbs change the server's folder and look at it.
var folderVerbs = Vocabulary{{Word: "data", Verbs: Verbs{
	"file":       Once(transcript.FileUsage, (*Line).File, inFolder(writes(false))),
	"append":     Once(transcript.FileUsage, (*Line).File, inFolder(writes(true))),
	"is private": Once("data is private", NoWords, inFolder(isPrivate)),
	"is full":    Once(roomUsage, NoWords, inFolder(isFull)),
	"is":         Verb{Read: readDataIs},
	"has":        Once(roomUsage, readRoom, inFolder(hasRoom)),
}}}

const roomUsage = "data is full, data has room"

// readDataIs reads "data is" with another word than those that may follow it.
func readDataIs(*Line) (Action, error) {
	return nil, fmt.Errorf("expected private or full after data is, or, before the first step, " +
		"absent or small")
}

func readRoom(l *Line) (None, error) { return None{}, l.Expect("room") }

// inFolder returns a function that does something with the server's folder.
func inFolder[W any](do func(*serve.Folder, W) error) func(context.Context, *Play, string,
	W) error {
	return func(_ context.Context, p *Play, _ string, words W) error {
		if p.Server.Data == nil {
			return ErrNoFolder
		}
		return do(p.Server.Data, words)
	}
}

// ErrNoFolder says that a step needs a folder that the server does not have.
var ErrNoFolder = errors.New("the server has no folder: its run does not use {data}")

// writes returns a function that makes a file, or with more adds to one.
func writes(more bool) func(*serve.Folder, transcript.File) error {
	return func(f *serve.Folder, file transcript.File) error {
		return f.Write(file.Name, more, file.Data.Reader())
	}
}

func isPrivate(f *serve.Folder, _ None) error { return f.Private() }

// isFull fills the small disk.
func isFull(f *serve.Folder, _ None) error {
	if !f.IsSmall() {
		return errNotSmall
	}
	return f.Fill()
}

// hasRoom gives the small disk room again.
func hasRoom(f *serve.Folder, _ None) error {
	if !f.IsSmall() {
		return errNotSmall
	}
	return f.Drain()
}

var errNotSmall = errors.New("the folder is no small disk: expected data is small before the " +
	"first step")

// prepare makes the folder that the transcript wants the server to find. It returns nil if the
// model does not ask for a folder.
func prepare(t *Transcript, built *toolchain.Built) (*serve.Folder, error) {
	if !serve.WantsFolder(built.Model) {
		return nil, nil
	}
	folder, err := serve.NewFolder(built.Out)
	if err != nil {
		return nil, err
	}
	switch t.Folder {
	case transcript.FolderAbsent:
		err = os.Remove(folder.Path)
	case transcript.FolderSmall:
		err = folder.Shrink(serve.SmallDisk)
	case transcript.FolderMortal:
		err = folder.Risk()
	}
	for _, file := range t.Files {
		if err == nil {
			err = folder.Write(file.Name, false, file.Data.Reader())
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/freeport"
	"interleave/internal/irctest"
)

// unpack unpacks a tar archive into a folder.
func unpack(t *testing.T, r io.Reader, folder string) {
	t.Helper()
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(folder, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
			var data []byte
			if data, err = io.ReadAll(a); err == nil {
				err = os.WriteFile(to, data, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unpackImage unpacks the layout and the layer of an image, and returns the image's configuration.
func unpackImage(t *testing.T, file, root string) (config struct {
	Entrypoint, Cmd []string
	User            string
}) {
	t.Helper()
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	layout := t.TempDir()
	unpack(t, archive, layout)
	read := func(name string, into any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(layout, name))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	type reference struct{ Digest string }
	blob := func(r reference) string { return "blobs/" + strings.Replace(r.Digest, ":", "/", 1) }
	var index struct{ Manifests []reference }
	read("index.json", &index)
	var manifest struct {
		Config reference
		Layers []reference
	}
	read(blob(index.Manifests[0]), &manifest)
	var whole struct{ Config any }
	whole.Config = &config
	read(blob(manifest.Config), &whole)
	for _, l := range manifest.Layers {
		data, err := os.ReadFile(filepath.Join(layout, blob(l)))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, z, root)
	}
	return config
}

// TestImageOfPapaya builds the image, unpacks it and runs its server, which answers a client. In a
// container the folders would be those of the image.
func TestImageOfPapaya(t *testing.T) {
	dir := t.TempDir()
	program, settings := filepath.Join(dir, "papaya"), filepath.Join(dir, "papaya.toml")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "interleave/cmd/papaya")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const text = "[listen]\nplain = [\"127.0.0.1:6667\"]\ntls = []\n[accounts]\nrequired = false\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	image, root := filepath.Join(dir, "image.tar"), filepath.Join(dir, "root")
	if err := run([]string{"-version", "v0.1.0", "-program", program, "-settings", settings, "-o",
		image}, io.Discard); err != nil {
		t.Fatal(err)
	}
	config := unpackImage(t, image, root)
	inside := func(path string) string { return filepath.Join(root, path) }
	for _, path := range []string{"/etc/passwd", "/etc/group", "/var/lib/papaya", "/tmp",
		config.Cmd[2]} {
		if _, err := os.Stat(inside(path)); err != nil {
			t.Error(err)
		}
	}
	if config.User != "65532:65532" || len(config.Entrypoint) != 1 || len(config.Cmd) != 3 {
		t.Fatalf("it runs %q %q as %s", config.Entrypoint, config.Cmd, config.User)
	}
	address := fmt.Sprintf("127.0.0.1:%d", freeport.For(t))
	serve := exec.Command(inside(config.Entrypoint[0]), config.Cmd[0], config.Cmd[1],
		inside(config.Cmd[2]), "--data", inside("/var/lib/papaya"), "--listen", address)
	said, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	var log []byte
	for !bytes.Contains(log, []byte("ready\n")) {
		part := make([]byte, 1024)
		n, err := said.Read(part)
		if log = append(log, part[:n]...); err != nil {
			t.Fatalf("the server ended: %v\n%s", err, log)
		}
	}
	irctest.Dial(t, address).Register("ann", "#tea")
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "image.tar")
	for _, test := range []struct {
		args  []string
		epoch string
		want  string
	}{
		{nil, "", "it is oci -version"},
		{[]string{"-king"}, "", "not defined"},
		{[]string{"-version", "v1", "-program", dir + "/none", "-settings", file, "-o", to}, "",
			"no such file"},
		{[]string{"-version", "v1", "-program", file, "-settings", dir + "/none", "-o", to}, "",
			"no such file"},
		{[]string{"-version", "v1", "-program", file, "-settings", file, "-o", dir + "/no/x"}, "",
			"no such file"},
		{[]string{"-version", "v1", "-program", file, "-settings", file, "-o", to}, "noon",
			"SOURCE_DATE_EPOCH"},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", test.epoch)
		if err := run(test.args, io.Discard); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.args, err, test.want)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%q has written an image", test.args)
		}
	}
}

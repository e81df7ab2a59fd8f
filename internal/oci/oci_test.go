package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// entries reads a tar archive: the names in their order, and what is in each.
func entries(t *testing.T, r io.Reader) (names []string, data map[string][]byte,
	heads map[string]*tar.Header) {
	t.Helper()
	data, heads = map[string][]byte{}, map[string]*tar.Header{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if err == io.EOF {
			return names, data, heads
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		data[h.Name], heads[h.Name] = text, h
	}
}

var small = Image{Arch: "arm64", Created: time.Unix(1_800_000_000, 5), Name: "v0.1.0",
	Config: Config{User: "7:7", Entrypoint: []string{"/usr/bin/tea"},
		ExposedPorts: map[string]struct{}{"6697/tcp": {}}},
	Annotations: map[string]string{"org.opencontainers.image.version": "v0.1.0"},
	Files: []File{{Path: "var/lib/tea/", Mode: 0o700, User: 7},
		{Path: "usr/bin/tea", Mode: 0o755, Data: []byte("#!/bin/sh\n")}}}

// TestWrite follows the references of an image, from its index to the files.
func TestWrite(t *testing.T) {
	var b, again bytes.Buffer
	if err := Write(&b, small); err != nil {
		t.Fatal(err)
	}
	if err := Write(&again, small); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("the second time other bytes are written, or %v", err)
	}
	names, blobs, _ := entries(t, &b)
	if len(names) != 7 || string(blobs["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("the layout has %q", names)
	}
	blob := func(d descriptor, kind string) []byte {
		t.Helper()
		data := blobs["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if d.MediaType != kind || d.Size != len(data) || digest(data) != d.Digest {
			t.Errorf("%+v: %d bytes of %s", d, len(data), digest(data))
		}
		return data
	}
	read := func(data []byte, into any) {
		t.Helper()
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(into); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
	}
	var top index
	read(blobs["index.json"], &top)
	if len(top.Manifests) != 1 || top.SchemaVersion != 2 || top.MediaType != typeIndex ||
		*top.Manifests[0].Platform != (platform{"arm64", "linux"}) ||
		top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v0.1.0" {
		t.Fatalf("the index: %+v", top)
	}
	var m manifest
	read(blob(top.Manifests[0], typeManifest), &m)
	var c configuration
	read(blob(m.Config, typeConfig), &c)
	if len(m.Layers) != 1 || m.Annotations["org.opencontainers.image.version"] != "v0.1.0" {
		t.Fatalf("the manifest: %+v", m)
	}
	z, err := gzip.NewReader(bytes.NewReader(blob(m.Layers[0], typeLayer)))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if c.RootFS.Type != "layers" || c.RootFS.DiffIDs[0] != digest(layer) || c.OS != "linux" ||
		c.Architecture != "arm64" || c.Config.User != "7:7" || c.Created.Nanosecond() != 0 {
		t.Errorf("the configuration: %+v", c)
	}
	names, blobs, heads := entries(t, bytes.NewReader(layer))
	if got := strings.Join(names, " "); got != "usr/ usr/bin/ usr/bin/tea var/ var/lib/ "+
		"var/lib/tea/" {
		t.Errorf("the layer has %s", got)
	}
	tea, home := heads["usr/bin/tea"], heads["var/lib/tea/"]
	if tea.Mode != 0o755 || tea.Uid != 0 || home.Mode != 0o700 || home.Uid != 7 || home.Gid != 7 ||
		home.Typeflag != tar.TypeDir || string(blobs["usr/bin/tea"]) != "#!/bin/sh\n" ||
		!tea.ModTime.Equal(time.Unix(1_800_000_000, 0)) {
		t.Errorf("the files are %+v and %+v", tea, home)
	}
}

func TestWrongPaths(t *testing.T) {
	for _, p := range []string{"", "/", "/etc/passwd", "../x", "a/../../x", "a//b", ".hidden/../x",
		"usr/bin/tea"} {
		wrong := small
		wrong.Files = append([]File{{Path: p}}, small.Files...)
		if err := Write(io.Discard, wrong); err == nil {
			t.Errorf("%q is written", p)
		}
	}
}

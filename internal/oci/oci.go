// Package oci writes a container image as an OCI image layout in a tar archive (OCI Image Format
// Specification 1.1), which podman, docker and skopeo read. It needs no daemon and no network. The
// same files and time give the same bytes.
package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// A File is a file or, with a slash at the end of its path, a directory of an image.
type File struct {
	Path string // without a slash at its beginning
	Mode int64
	User int // owns it, with the group of the same number
	Data []byte
}

// An Image is the content of an image of one layer, for Linux.
type Image struct {
	Arch    string // as in GOARCH
	Created time.Time
	Files   []File
	Config  Config
	Name    string // of the image in the archive, such as v0.1.0
	// Annotations are those of the manifest, by the keys of the specification.
	Annotations map[string]string
}

// A Config says how a container is run (OCI Image Configuration, property config).
type Config struct {
	User         string              `json:"User,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	Volumes      map[string]struct{} `json:"Volumes,omitempty"`
	WorkingDir   string              `json:"WorkingDir,omitempty"`
	StopSignal   string              `json:"StopSignal,omitempty"`
}

// The media types of the specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type configuration struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       Config    `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Write writes the archive of an image.
func Write(w io.Writer, i Image) error {
	plain, err := archive(i.Files, i.Created)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	z, err := gzip.NewWriterLevel(&layer, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(plain); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	created := i.Created.UTC().Truncate(time.Second)
	config, err := json.Marshal(configuration{Created: created, Architecture: i.Arch, OS: "linux",
		Config: i.Config, RootFS: rootFS{"layers", []string{digest(plain)}}})
	if err != nil {
		return err
	}
	about, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: typeManifest,
		Config:      describe(typeConfig, config),
		Layers:      []descriptor{describe(typeLayer, layer.Bytes())},
		Annotations: i.Annotations})
	if err != nil {
		return err
	}
	entry := describe(typeManifest, about)
	entry.Platform = &platform{i.Arch, "linux"}
	entry.Annotations = map[string]string{"org.opencontainers.image.ref.name": i.Name}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex,
		Manifests: []descriptor{entry}})
	if err != nil {
		return err
	}
	files := []File{{Path: "oci-layout", Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{Path: "index.json", Data: top}}
	for _, blob := range [][]byte{about, config, layer.Bytes()} {
		files = append(files, File{
			Path: "blobs/" + strings.Replace(digest(blob), ":", "/", 1), Data: blob})
	}
	for n := range files {
		files[n].Mode = 0o644
	}
	all, err := archive(files, i.Created)
	if err != nil {
		return err
	}
	_, err = w.Write(all)
	return err
}

func describe(kind string, data []byte) descriptor {
	return descriptor{MediaType: kind, Digest: digest(data), Size: len(data)}
}

// archive writes files into a tar, each after its directories.
func archive(files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	at = at.UTC().Truncate(time.Second)
	made := map[string]bool{}
	for _, f := range withParents(files) {
		name, folder := strings.CutSuffix(f.Path, "/")
		if name == "" || name != path.Clean(name) || name[0] == '/' || name[0] == '.' ||
			made[name] {
			return nil, fmt.Errorf("file %q of the image: a wrong path, or there twice", f.Path)
		}
		made[name] = true
		h := &tar.Header{Name: f.Path, Mode: f.Mode, Uid: f.User, Gid: f.User, ModTime: at,
			Size: int64(len(f.Data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if folder {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("file %s of the image: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("file %s of the image: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// withParents adds the directories of files that are not among them, and puts each before what it
// has.
func withParents(files []File) []File {
	out := slices.Clone(files)
	there := map[string]bool{}
	for _, f := range files {
		there[strings.TrimSuffix(f.Path, "/")] = true
	}
	for _, f := range files {
		for d := path.Dir(strings.TrimSuffix(f.Path, "/")); d != "." && d != "/"; d = path.Dir(d) {
			if !there[d] {
				there[d] = true
				out = append(out, File{Path: d + "/", Mode: 0o755})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Command oci makes the container image of Papaya: one static program, its settings and its user,
// and nothing else.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"interleave/internal/oci"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	f := flag.NewFlagSet("oci", flag.ContinueOnError)
	f.SetOutput(stderr)
	version := f.String("version", "", "the image's `version`")
	arch := f.String("arch", "amd64", "the program's `architecture`, as in GOARCH")
	program := f.String("program", "", "the `file` of the static program papaya")
	settings := f.String("settings", "", "the `file` that becomes /etc/papaya/papaya.toml")
	output := f.String("o", "", "the `file` that is written: an OCI image layout in a tar")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *version == "" || *program == "" || *settings == "" || *output == "" || f.NArg() > 0 {
		return errors.New("it is oci -version VERSION -program FILE -settings FILE -o FILE")
	}
	created, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(*program)
	if err != nil {
		return err
	}
	toml, err := os.ReadFile(*settings)
	if err != nil {
		return err
	}
	out, err := os.Create(*output)
	if err != nil {
		return err
	}
	err = errors.Join(oci.Write(out, image(*version, *arch, created, binary, toml)), out.Close())
	if err != nil {
		_ = os.Remove(*output) // it is incomplete
	}
	return err
}

// sourceDate parses SOURCE_DATE_EPOCH (reproducible-builds.org), seconds since 1970; 0 without it.
func sourceDate(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(n, 0), nil
}

// user is the number of the user who runs the server: that of "nonroot" in distroless images.
const user = 65532

func image(version, arch string, created time.Time, program, settings []byte) oci.Image {
	number := strconv.Itoa(user)
	return oci.Image{Arch: arch, Created: created, Name: version,
		Annotations: map[string]string{
			"org.opencontainers.image.title":       "papaya",
			"org.opencontainers.image.description": "a chat server of your own",
			"org.opencontainers.image.version":     version},
		Config: oci.Config{User: number + ":" + number,
			Entrypoint: []string{"/usr/bin/papaya"},
			Cmd:        []string{"serve", "--config", "/etc/papaya/papaya.toml"},
			// IRC over TLS, and the page
			ExposedPorts: map[string]struct{}{"6697/tcp": {}, "443/tcp": {}},
			Volumes:      map[string]struct{}{"/var/lib/papaya": {}},
			WorkingDir:   "/var/lib/papaya", StopSignal: "SIGTERM"},
		Files: []oci.File{
			{Path: "usr/bin/papaya", Mode: 0o755, Data: program},
			{Path: "etc/papaya/papaya.toml", Mode: 0o644, Data: settings},
			{Path: "etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/:/none\npapaya:x:" +
				number + ":" + number + ":papaya:/var/lib/papaya:/none\n")},
			{Path: "etc/group", Mode: 0o644, Data: []byte("root:x:0:\npapaya:x:" + number + ":\n")},
			{Path: "var/lib/papaya/", Mode: 0o700, User: user},
			{Path: "tmp/", Mode: 0o1777}}}
}

package file

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
)

// unknown is the type of everything that is not shown. Browsers offer to save it.
const unknown = "application/octet-stream"

// shown are the types that browsers may show by themselves, as the WHATWG's MIME Sniffing finds
// them (package net/http), with the suffix of their names. All are media that run nothing. SVG is
// none of them, and text is not, since it may be markup after all. An image is shown only if the
// server could decode it.
var shown = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"audio/mpeg": ".mp3", "audio/wave": ".wav", "application/ogg": ".ogg",
	"video/mp4": ".mp4", "video/webm": ".webm",
}

func isImage(kind string) bool { return strings.HasPrefix(kind, "image/") }

// sniffLen is how many bytes http.DetectContentType looks at.
const sniffLen = 512

// sniff decides the type by the content. What the uploader says of it does not count.
func sniff(f *os.File) (string, error) {
	head := make([]byte, sniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if kind := http.DetectContentType(head[:n]); shown[kind] != "" {
		return kind, nil
	}
	return unknown, nil
}

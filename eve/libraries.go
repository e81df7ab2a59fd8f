package eve

// A Library is a C library of Debian that a part of the runtime needs, or whose header a program
// names in an extern block.
type Library struct {
	Name      string // as its authors write it
	Header    string // of C
	Link      string // the linker's arguments
	PkgConfig string // its names for pkg-config; empty without one
	Package   string // of Debian, with the header
	// Runtime is the header of the runtime that generated code includes when it uses the part that
	// needs the library, and Sources are that part. They are compiled for programs that use it, and
	// not put into libeve.a. Empty: no part needs the library. A part may need several libraries:
	// each of them has some of its sources. A library of several parts is there once for each.
	Runtime string
	Sources []string
}

// Libraries are all that are known.
var Libraries = []Library{
	{Name: "SQLite", Header: "sqlite3.h", Link: "-lsqlite3", PkgConfig: "sqlite3",
		Package: "libsqlite3-dev", Runtime: "sqlite.hpp",
		Sources: []string{"sqlite.cpp", "sqlite_connection.cpp", "sqlite_value.cpp"}},
	{Name: "libpq", Header: "postgresql/libpq-fe.h", Link: "-lpq", PkgConfig: "libpq",
		Package: "libpq-dev", Runtime: "postgres.hpp",
		Sources: []string{"postgres.cpp", "postgres_session.cpp", "postgres_value.cpp",
			"postgres_work.cpp"}},
	{Name: "zlib", Header: "zlib.h", Link: "-lz", PkgConfig: "zlib", Package: "zlib1g-dev",
		Runtime: "compress.hpp", Sources: []string{"compress.cpp"}},
	{Name: "zlib", Header: "zlib.h", Link: "-lz", PkgConfig: "zlib", Package: "zlib1g-dev",
		Runtime: "deflate.hpp", Sources: []string{"deflate.cpp"}},
	{Name: "libzstd", Header: "zstd.h", Link: "-lzstd", PkgConfig: "libzstd",
		Package: "libzstd-dev", Runtime: "zstd.hpp", Sources: []string{"zstd.cpp"}},
	{Name: "brotli", Header: "brotli/encode.h", Link: "-lbrotlienc -lbrotlidec",
		PkgConfig: "libbrotlienc libbrotlidec", Package: "libbrotli-dev", Runtime: "brotli.hpp",
		Sources: []string{"brotli.cpp"}},
	{Name: "OpenSSL", Header: "openssl/ssl.h", Link: "-lssl -lcrypto", PkgConfig: "openssl",
		Package: "libssl-dev", Runtime: "tls.hpp",
		Sources: []string{"tls.cpp", "tls_certificate.cpp", "tls_error.cpp", "tls_layer.cpp",
			"tls_server.cpp", "tls_settings.cpp"}},
	{Name: "nghttp2", Header: "nghttp2/nghttp2.h", Link: "-lnghttp2", PkgConfig: "libnghttp2",
		Package: "libnghttp2-dev", Runtime: "multiplex.hpp",
		Sources: []string{"multiplex.cpp", "http2_connection.cpp", "http2_client.cpp",
			"http2_server.cpp"}},
	{Name: "c-ares", Header: "ares.h", Link: "-lcares", PkgConfig: "libcares",
		Package: "libc-ares-dev", Runtime: "dns.hpp", Sources: []string{"dns.cpp"}},
	{Name: "libjpeg", Header: "jpeglib.h", Link: "-ljpeg", PkgConfig: "libjpeg",
		Package: "libjpeg62-turbo-dev", Runtime: "image.hpp",
		Sources: []string{"image.cpp", "image_gif.cpp", "image_jpeg.cpp", "image_pixels.cpp"}},
	{Name: "libpng", Header: "png.h", Link: "-lpng", PkgConfig: "libpng", Package: "libpng-dev",
		Runtime: "image.hpp", Sources: []string{"image_png.cpp"}},
	{Name: "libcurl", Header: "curl/curl.h", Link: "-lcurl", PkgConfig: "libcurl",
		Package: "libcurl4-openssl-dev"},
	{Name: "the C library", Header: "math.h", Link: "-lm", Package: "libc6-dev"},
}

// ofLibrary says whether a source of the runtime needs a C library.
func ofLibrary(source string) bool {
	for _, l := range Libraries {
		for _, s := range l.Sources {
			if s == source {
				return true
			}
		}
	}
	return false
}

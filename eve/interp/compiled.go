package interp

import "strings"

// compiledOnly are the natives of modules that need a C library, by its name. The interpreter
// calls no C. Those before the bar are called by <-.
var compiledOnly = map[string]string{
	"SQLite": `sqlite.open sqlite.open_memory | sqlite.integer sqlite.real sqlite.text sqlite.blob
		sqlite.null`,
	"libpq": `postgres.open | postgres.integer postgres.real postgres.text postgres.blob
		postgres.boolean postgres.null row.boolean`,
	"SQLite or libpq": `database.query database.run database.returning database.run_all
		database.script database.begin database.close transaction.query transaction.run
		transaction.returning transaction.commit transaction.rollback | value.kind row.columns
		row.kind row.is_null row.integer row.real row.text row.blob database.path`,
	"OpenSSL": `tls.server tls.reload tls.client tls.make_self_signed | tls.version tls.cipher
		tls.protocol tls.server_name tls.peer`,
	"nghttp2": `| multiplex.server multiplex.client session.receive session.next session.stream
		session.code session.by_peer session.head session.take session.whole session.write
		session.write_buffer session.end session.reset session.pending session.queued
		session.output session.leave session.over session.proceed session.reply
		session.heading session.room session.ask session.ping session.goaway session.fault`,
	"c-ares": `dns.ask |`,
	"libjpeg": `image.decode picture.resized picture.jpeg picture.png | picture.width
		picture.height picture.is_transparent`,
	"zlib": `| compress.gzip compress.zlib compress.gunzip compress.unzlib compress.gzip_packer
		compress.zlib_packer compress.gzip_unpacker compress.zlib_unpacker deflate.coders
		coders.begin coder.pack coder.unpack`,
	"libzstd": `| zstd.pack zstd.unpack zstd.new_packer zstd.new_unpacker`,
	"brotli":  `| brotli.pack brotli.unpack brotli.new_packer brotli.new_unpacker`,
	"zlib, libzstd or brotli": `| packer.write packer.flush packer.finish unpacker.write
		unpacker.finish`,
}

// registerCompiledOnly makes natives that fail with a message.
func registerCompiledOnly() {
	for library, names := range compiledOnly {
		refuse := func(c *called) {
			fail(c.at, "the interpreter cannot call '%s', which needs %s; `eve test` without "+
				"--seeds can", c.fn.Name, library)
		}
		awaited, others, _ := strings.Cut(names, "|")
		for _, name := range strings.Fields(awaited) {
			asyncs[name] = func(c *called, _ func(value)) { refuse(c) }
		}
		for _, name := range strings.Fields(others) {
			natives[name] = func(c *called) value {
				refuse(c)
				return nil
			}
		}
	}
}

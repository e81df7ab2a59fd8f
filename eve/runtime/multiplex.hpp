#pragma once
// Module io.multiplex: the frames and streams of HTTP/2 (RFC 9113), by nghttp2
// (std/io/multiplex.eve). There is no I/O here: bytes of the peer go in, bytes for the peer come
// out.
#include "tuple.hpp"
#include "vector.hpp"

namespace eve::io::multiplex {

using fields = vector<tuple<string, string>>;

class connection; // http2_connection.hpp

// One side of a connection. A stream that has ended is known by no method: nothing happens then.
// Owner only, all methods.
class session {
public:
    // Takes the connection over.
    explicit session(connection* what) noexcept : what_(what) {}
    session(session&& other) noexcept : what_(other.what_) { other.what_ = nullptr; }
    session& operator=(session&& other) noexcept {
        connection* mine = what_;
        what_ = other.what_;
        other.what_ = mine;
        return *this;
    }
    ~session();

    void receive(const bytes& input, duration now);
    // What has happened next, as in std/io/multiplex.eve, to which stream, and by which code; 0:
    // nothing more.
    i64 next();
    i64 stream() const noexcept;
    i64 code() const noexcept;
    bool by_peer() const noexcept;

    fields head(i64 stream);
    bytes take(i64 stream);
    bool whole(i64 stream) const noexcept;

    void write(i64 stream, const string& part);
    void write_buffer(i64 stream, const bytes& part);
    void end(i64 stream);
    void reset(i64 stream);
    i64 pending(i64 stream) const noexcept;
    i64 queued() const noexcept;

    bytes output();
    void leave(bool now);
    bool over() const noexcept;

    // Of a server.
    void proceed(i64 stream);
    void reply(i64 stream, i64 status, const fields& head, bool last);
    i64 heading() const noexcept;

    // Of a client.
    i64 room() const noexcept;
    i64 ask(const fields& head, const bytes& body, bool follows);
    void ping();
    i64 goaway() const noexcept;
    i64 fault() const noexcept;

private:
    connection* what_;
};

// `streams` may be open at a time. A larger head is refused.
session server(i64 streams, i64 most_fields, i64 most_bytes);
session client(i64 streams, i64 most_fields, i64 most_bytes);

} // namespace eve::io::multiplex

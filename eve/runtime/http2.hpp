#pragma once
// Module io.http2: the frames of HTTP/2 (RFC 9113), by nghttp2 (std/io/http2.eve). There is no I/O
// here: bytes of the client go in, bytes for the client come out.
#include "tuple.hpp"
#include "vector.hpp"

namespace eve::io::http2 {

using fields = vector<tuple<string, string>>;

class connection; // http2_connection.hpp

// A server's side of a connection. A stream that has ended is known by no method: nothing happens
// then. Owner only, all methods.
class session {
public:
    // `streams` may be open at a time. A larger head is refused.
    session(i64 streams, i64 most_fields, i64 most_bytes);
    session(session&& other) noexcept : what_(other.what_) { other.what_ = nullptr; }
    session& operator=(session&& other) noexcept {
        connection* mine = what_;
        what_ = other.what_;
        other.what_ = mine;
        return *this;
    }
    ~session();

    void receive(const bytes& input, duration now);
    // What has happened next, as in std/io/http2.eve, and to which stream; 0: nothing more.
    i64 next();
    i64 stream() const noexcept;

    fields head(i64 stream);
    bytes take(i64 stream);
    bool whole(i64 stream) const noexcept;

    void proceed(i64 stream);
    void reply(i64 stream, i64 status, const fields& head, bool last);
    void write(i64 stream, const string& part);
    void write_buffer(i64 stream, const bytes& part);
    void end(i64 stream);
    void reset(i64 stream);
    i64 pending(i64 stream) const noexcept;
    i64 queued() const noexcept;

    bytes output();
    void leave(bool now);
    i64 heading() const noexcept;
    bool over() const noexcept;

private:
    connection* what_;
};

session new_session(i64 streams, i64 most_fields, i64 most_bytes);

} // namespace eve::io::http2

#pragma once
// The client's side of a connection of HTTP/2. A stream is kept until its owner resets it, also
// when nghttp2 has forgotten it: its reply may not have been taken. Owner only, all methods.
#include "http2_connection.hpp"

namespace eve::io::multiplex {

class client_connection final : public connection {
public:
    client_connection(i64 streams, i64 most_fields, i64 most_bytes);

    // How many requests may begin now; -1: none, from now on.
    i64 room() const noexcept override;
    // Returns the stream; 0: nothing was sent. follows: more of the body is appended.
    i64 ask(const fields& head, const bytes& body, bool follows) override;
    void reset(stream& s) override;
    void leave(bool now) override;

private:
    void sent(const nghttp2_frame&) override {}
    void closes(stream& s, u32 why) override;
    int cancelled(stream* s) override;
    void came(i64 size) override { allowance_.earn(size * allowance::of_byte); }
    void release(stream& s);

    const i64 streams_;
    i64 open_ = 0; // streams that nghttp2 knows
    bool left_ = false;
};

} // namespace eve::io::multiplex

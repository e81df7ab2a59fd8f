#pragma once
// The server's side of a connection of HTTP/2. Owner only, all methods.
#include "http2_connection.hpp"

namespace eve::io::multiplex {

class server_connection final : public connection {
public:
    server_connection(i64 streams, i64 most_fields, i64 most_bytes);

    void proceed(const stream& s) override;
    void reply(stream& s, i64 status, const fields& head, bool last) override;
    void leave(bool now) override;

private:
    void sent(const nghttp2_frame& frame) override;
    void unsent(const nghttp2_frame& frame) override;
    void closes(stream& s, u32 why) override;
    int cancelled(stream* s) override;
    void acknowledged() override;

    bool leaving_ = false;
    bool left_ = false;
};

} // namespace eve::io::multiplex

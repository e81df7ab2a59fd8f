#include "http2_client.hpp"

namespace eve::io::multiplex {

namespace {

// Bytes of a reply that may come before any are taken; a guess. With 64 KiB, the default of RFC
// 9113, a distant server would send that much in each round trip.
constexpr i64 window = 1 << 18;

} // namespace

client_connection::client_connection(i64 streams, i64 most_fields, i64 most_bytes)
    : connection(side::client, most_fields, most_bytes), streams_(streams) {
    nghttp2_settings_entry ours[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<u32>(window)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<u32>(most_bytes)},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    settle_in(ours, sizeof ours / sizeof *ours, streams, window);
}

// nghttp2 assumes 100 streams until the server has said how many it handles.
i64 client_connection::room() const noexcept {
    if (why_ != NGHTTP2_NO_ERROR || nghttp2_session_check_request_allowed(session_) == 0) return -1;
    i64 most =
        nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (most > streams_) most = streams_;
    return most > open_ ? most - open_ : 0;
}

i64 client_connection::ask(const fields& head, const bytes& body, bool follows) {
    stream& s = add(static_cast<i32>(nghttp2_session_get_next_stream_id(session_)));
    append(s, body.data(), body.size());
    s.ended = !follows;
    vector<nghttp2_nv> all;
    list(all, head);
    nghttp2_data_provider rest = body_of(s);
    i32 id = nghttp2_submit_request(session_, nullptr, all.data(), static_cast<usize>(all.size()),
                                    body.empty() && !follows ? nullptr : &rest, &s);
    must(id);
    if (id < 0) {
        forget(&s);
        return 0;
    }
    open_++;
    return id;
}

// RFC 9113 section 8.7: a request that is refused, or above the last one of GOAWAY, was not
// handled. nghttp2 has one code for both, and for requests that it could not send.
void client_connection::closes(stream& s, u32 why) {
    open_--;
    s.closed = true;
    if (s.dropped) {
        release(s);
        return;
    }
    if (s.whole) {
        allowance_.earn(allowance::of_frame);
        return; // its owner has been told of its end
    }
    happening what = happening::closed;
    if (why == NGHTTP2_REFUSED_STREAM && !s.headed) what = happening::refused;
    else if (!s.cancelled && !fits(s)) what = happening::oversized;
    happens({what, s.id, why, s.cancelled});
}

// Each reset costs one of our own requests.
int client_connection::cancelled(stream* s) {
    return s != nullptr && !s->closed ? 0 : spend(allowance::of_frame);
}

void client_connection::reset(stream& s) {
    if (s.closed) release(s);
    else connection::reset(s);
}

void client_connection::release(stream& s) {
    must(nghttp2_session_consume_connection(session_, static_cast<usize>(s.in.size())));
    forget(&s);
}

void client_connection::leave(bool) {
    if (left_) return;
    left_ = true;
    must(nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR));
}

} // namespace eve::io::multiplex

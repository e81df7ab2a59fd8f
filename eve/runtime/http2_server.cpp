#include "http2_server.hpp"

namespace eve::io::multiplex {

namespace {

constexpr i64 window = 65'535; // bytes of a stream, RFC 9113 section 6.9.2

char digit_of(i64 n) noexcept { return static_cast<char>('0' + n % 10); }

} // namespace

server_connection::server_connection(i64 streams, i64 most_fields, i64 most_bytes)
    : connection(side::server, most_fields, most_bytes) {
    nghttp2_settings_entry ours[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<u32>(streams)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<u32>(most_bytes)},
        // the priorities of RFC 7540, which RFC 9113 has given up
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    settle_in(ours, sizeof ours / sizeof *ours, streams, window);
}

// Behind the end of a reply nobody wants the rest of its request: section 8.1. Behind the first
// GOAWAY a ping asks whether the client has read it.
void server_connection::sent(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_GOAWAY && leaving_ && !left_) ping();
    bool is_reply = frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS;
    i32 id = frame.hd.stream_id;
    if (is_reply && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        nghttp2_session_get_stream_remote_close(session_, id) == 0)
        must(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR));
}

// The head of a reply is more than nghttp2 sends, or its stream has ended.
void server_connection::unsent(const nghttp2_frame& frame) {
    stream* s = find(frame.hd.stream_id);
    if (frame.hd.type != NGHTTP2_HEADERS || s == nullptr) return;
    s->paid = true;
    must(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR));
}

void server_connection::closes(stream& s, u32 why) {
    if (why == NGHTTP2_NO_ERROR && s.whole) allowance_.earn(allowance::of_frame);
    // nghttp2 does not tell of a body that is not as long as its head says: it resets
    bool unpaid = why != NGHTTP2_NO_ERROR && !s.paid && !s.dropped;
    if (unpaid && charge(s.id) != 0) fail(NGHTTP2_ENHANCE_YOUR_CALM);
    must(nghttp2_session_consume_connection(session_, static_cast<usize>(s.in.size())));
    i32 id = s.id;
    forget(&s);
    happens({happening::closed, id});
}

int server_connection::cancelled(stream* s) {
    if (s != nullptr) s->paid = true;
    return spend(allowance::of_reset);
}

void server_connection::acknowledged() {
    if (leaving_) leave(true);
}

void server_connection::reply(stream& s, i64 status, const fields& head, bool last) {
    vector<nghttp2_nv> all;
    string name = string::literal(":status");
    const char digits[] = {digit_of(status / 100), digit_of(status / 10), digit_of(status)};
    string value(digits, sizeof digits);
    list(all, name, value);
    list(all, head);
    nghttp2_data_provider body = body_of(s);
    s.ended = last;
    int code = nghttp2_submit_response(session_, s.id, all.data(), static_cast<usize>(all.size()),
                                       last ? nullptr : &body);
    must(code);
    if (code != 0) reset(s);
}

void server_connection::proceed(const stream& s) {
    vector<nghttp2_nv> all;
    string name = string::literal(":status"), value = string::literal("100");
    list(all, name, value);
    must(
        nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, s.id, nullptr, all.data(), 1, nullptr));
}

// Section 6.8: first that the end is near, so that no request is lost; when the client has read
// that, which of its requests are the last ones.
void server_connection::leave(bool now) {
    if (left_) return;
    if (now) {
        left_ = true;
        must(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                                   nghttp2_session_get_last_proc_stream_id(session_),
                                   NGHTTP2_NO_ERROR, nullptr, 0));
    } else if (!leaving_) {
        leaving_ = true;
        must(nghttp2_submit_shutdown_notice(session_));
    }
}

} // namespace eve::io::multiplex

#include "http2_connection.hpp"

#include "fail.hpp"

#include <string.h>

namespace eve::io::http2 {

namespace {

constexpr i64 window = 65'535;              // bytes of a stream, RFC 9113 section 6.9.2
constexpr i64 largest_window = 0x7fff'ffff; // section 6.9.1

// Bytes that each field of a head counts besides its text, section 6.5.2.
constexpr i64 of_field = 32;
// A head of so many times the limit is no longer looked at.
constexpr i64 hopeless = 8;

constexpr i64 one_output = 1 << 16;   // bytes; a guess
constexpr int most_continuations = 8; // frames behind HEADERS; as nghttp2 since 1.61

void must(int code) {
    if (code == NGHTTP2_ERR_NOMEM) die_out_of_memory();
}

u8* bytes_of(const string& s) noexcept {
    return reinterpret_cast<u8*>(const_cast<char*>(s.data())); // it is only read
}

nghttp2_nv pair_of(const string& name, const string& value) noexcept {
    return {bytes_of(name), bytes_of(value), static_cast<usize>(name.size()),
            static_cast<usize>(value.size()), NGHTTP2_NV_FLAG_NONE};
}

char digit_of(i64 n) noexcept { return static_cast<char>('0' + n % 10); }

string text_of(const u8* text, usize size) {
    return string(reinterpret_cast<const char*>(text), static_cast<i64>(size));
}

} // namespace

// What nghttp2 calls. `self` is the connection.
struct connection::callbacks {
    static connection& of(void* self) noexcept { return *static_cast<connection*>(self); }

    static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* hd, void* self) {
        connection& c = of(self);
        // nghttp2 tells of it here only
        if (hd->type == NGHTTP2_PRIORITY) return c.spend(allowance::of_frame);
        if (hd->type == NGHTTP2_HEADERS) c.continuations_ = 0;
        if (hd->type != NGHTTP2_CONTINUATION || ++c.continuations_ <= most_continuations) return 0;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }

    static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        c.heading_ = frame->hd.stream_id;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            c.begin(frame->hd.stream_id);
        } else if (stream* s = c.find(frame->hd.stream_id)) {
            s->trailer = true;
            s->head_fields = s->head_bytes = 0;
        }
        return 0;
    }

    // The fields of a trailer are counted and dropped: RFC 9110 section 6.5.1.
    static int header(nghttp2_session*, const nghttp2_frame* frame, const u8* name, usize name_size,
                      const u8* value, usize value_size, u8, void* self) {
        connection& c = of(self);
        stream* s = c.find(frame->hd.stream_id);
        if (s == nullptr) return 0;
        ++s->head_fields;
        s->head_bytes += static_cast<i64>(name_size + value_size) + of_field;
        bool fits = s->head_fields <= c.most_fields_ && s->head_bytes <= c.most_bytes_;
        if (!fits && (s->trailer || s->head_bytes > hopeless * c.most_bytes_)) {
            c.heading_ = 0;
            int code = c.charge(s->id);
            return code != 0 ? code : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; // resets the stream
        }
        if (fits && !s->trailer)
            s->head.push(
                tuple<string, string>(text_of(name, name_size), text_of(value, value_size)));
        return 0;
    }

    static int frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        switch (frame->hd.type) {
        case NGHTTP2_HEADERS: return c.headed(frame->hd.stream_id, frame->headers.cat, last);
        case NGHTTP2_DATA:
            if (stream* s = c.find(frame->hd.stream_id); s != nullptr && last) {
                s->whole = true;
                c.has_input(*s);
            }
            // of padding alone, perhaps
            return frame->hd.length <= frame->data.padlen && !last ? c.spend(allowance::of_frame)
                                                                   : 0;
        case NGHTTP2_PRIORITY: return 0;
        case NGHTTP2_RST_STREAM: return c.charge(frame->hd.stream_id);
        case NGHTTP2_PING:
            if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 && c.leaving_) c.leave(true);
            return c.spend(allowance::of_frame);
        default: return c.spend(allowance::of_frame);
        }
    }

    // A frame that nghttp2 answers by a reset of its stream, or by the end of the connection.
    static int invalid(nghttp2_session*, const nghttp2_frame* frame, int, void* self) {
        connection& c = of(self);
        c.heading_ = 0;
        return c.charge(frame->hd.stream_id);
    }

    static int data(nghttp2_session* session, u8, i32 id, const u8* from, usize size, void* self) {
        connection& c = of(self);
        stream* s = c.find(id);
        if (s == nullptr) {
            must(nghttp2_session_consume(session, id, size));
            return 0;
        }
        c.allowance_.earn(static_cast<i64>(size) * allowance::of_input);
        s->in.append(from, static_cast<i64>(size));
        c.has_input(*s);
        return 0;
    }

    // Behind the end of a reply nobody wants the rest of its request: section 8.1. Behind the first
    // GOAWAY a ping asks whether the client has read it.
    static int sent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        if (frame->hd.type == NGHTTP2_GOAWAY && c.leaving_ && !c.left_)
            must(nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, nullptr));
        bool is_reply = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
        i32 id = frame->hd.stream_id;
        if (is_reply && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            nghttp2_session_get_stream_remote_close(session, id) == 0)
            must(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR));
        return 0;
    }

    // The head of a reply is more than nghttp2 sends, or its stream has ended.
    static int unsent(nghttp2_session* session, const nghttp2_frame* frame, int, void* self) {
        stream* s = of(self).find(frame->hd.stream_id);
        if (frame->hd.type != NGHTTP2_HEADERS || s == nullptr) return 0;
        s->paid = true;
        must(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR));
        return 0;
    }

    static int closed(nghttp2_session* session, i32 id, u32 why, void* self) {
        connection& c = of(self);
        stream* s = c.find(id);
        if (s == nullptr) return 0;
        if (c.heading_ == id) c.heading_ = 0;
        if (why == NGHTTP2_NO_ERROR && s->whole) c.allowance_.earn(allowance::of_frame);
        // nghttp2 does not tell of a body that is not as long as its head says: it resets
        bool unpaid = why != NGHTTP2_NO_ERROR && !s->paid && !s->dropped;
        if (unpaid && c.charge(id) != 0) c.fail(NGHTTP2_ENHANCE_YOUR_CALM);
        must(nghttp2_session_consume_connection(session, static_cast<usize>(s->in.size())));
        c.forget(s);
        c.happens(happening::closed, id);
        return 0;
    }

    static ssize_t read(nghttp2_session*, i32, u8* to, usize room, u32* flags,
                        nghttp2_data_source* source, void* self) {
        connection& c = of(self);
        stream& s = *static_cast<stream*>(source->ptr);
        i64 n = s.out.size() < static_cast<i64>(room) ? s.out.size() : static_cast<i64>(room);
        if (n == 0 && !s.ended) {
            s.deferred = true;
            return NGHTTP2_ERR_DEFERRED;
        }
        if (n > 0) memcpy(to, s.out.data(), static_cast<usize>(n));
        s.out.consume(n);
        c.queued_ -= n;
        c.allowance_.earn(n * allowance::of_byte);
        if (s.out.empty() && s.ended) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(n);
    }

    static nghttp2_session* open(connection* self) {
        nghttp2_session_callbacks* all = nullptr;
        nghttp2_option* how = nullptr;
        nghttp2_session* made = nullptr;
        if (nghttp2_session_callbacks_new(&all) != 0 || nghttp2_option_new(&how) != 0)
            die_out_of_memory();
        nghttp2_session_callbacks_set_on_begin_frame_callback(all, begin_frame);
        nghttp2_session_callbacks_set_on_begin_headers_callback(all, begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(all, header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(all, frame);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(all, invalid);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, data);
        nghttp2_session_callbacks_set_on_frame_send_callback(all, sent);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(all, unsent);
        nghttp2_session_callbacks_set_on_stream_close_callback(all, closed);
        // a window opens when the program takes what has come
        nghttp2_option_set_no_auto_window_update(how, 1);
        if (nghttp2_session_server_new2(&made, all, self, how) != 0) die_out_of_memory();
        nghttp2_option_del(how);
        nghttp2_session_callbacks_del(all);
        return made;
    }
};

connection::connection(i64 streams, i64 most_fields, i64 most_bytes)
    : session_(callbacks::open(this)), most_fields_(most_fields), most_bytes_(most_bytes) {
    settle_in(streams);
}

connection::~connection() {
    nghttp2_session_del(session_);
    while (all_ != nullptr) forget(all_);
}

void connection::settle_in(i64 streams) {
    nghttp2_settings_entry ours[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<u32>(streams)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<u32>(most_bytes_)},
        // the priorities of RFC 7540, which RFC 9113 has given up
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    must(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, ours, sizeof ours / sizeof *ours));
    // Streams that nobody reads do not stop the others: the connection has room for all.
    i64 room = streams < largest_window / window ? streams * window : largest_window;
    must(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                               static_cast<i32>(room)));
}

stream* connection::find(i64 id) const noexcept {
    return static_cast<stream*>(
        nghttp2_session_get_stream_user_data(session_, static_cast<i32>(id)));
}

stream& connection::begin(i32 id) {
    auto* s = new stream(id);
    s->next = all_;
    if (all_ != nullptr) all_->previous = s;
    all_ = s;
    must(nghttp2_session_set_stream_user_data(session_, id, s));
    return *s;
}

void connection::forget(stream* s) noexcept {
    if (s->previous != nullptr) s->previous->next = s->next;
    else all_ = s->next;
    if (s->next != nullptr) s->next->previous = s->previous;
    queued_ -= s->out.size();
    delete s;
}

void connection::has_input(stream& s) {
    if (!s.told) happens(happening::part, s.id);
    s.told = true;
}

// A head or a trailer has come.
int connection::headed(i32 id, int category, bool last) {
    heading_ = 0;
    stream* s = find(id);
    if (s == nullptr) return spend(allowance::of_frame);
    s->whole = s->whole || last;
    if (category != NGHTTP2_HCAT_REQUEST) {
        has_input(*s);
        return 0;
    }
    bool fits = s->head_fields <= most_fields_ && s->head_bytes <= most_bytes_;
    happens(fits ? happening::head : happening::oversized, id);
    return 0;
}

int connection::spend(i64 ns) noexcept {
    return allowance_.spend(ns) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

// A request was begun for nothing.
int connection::charge(i32 id) noexcept {
    if (stream* s = find(id)) s->paid = true;
    return spend(allowance::of_reset);
}

void connection::fail(u32 why) noexcept {
    if (why_ == NGHTTP2_NO_ERROR) why_ = why;
}

void connection::receive(const bytes& input, duration now) {
    allowance_.pass(now);
    if (!allowance_.spend(input.size() * allowance::of_input)) fail(NGHTTP2_ENHANCE_YOUR_CALM);
    if (why_ != NGHTTP2_NO_ERROR) return;
    ssize_t n = nghttp2_session_mem_recv(session_, input.data(), static_cast<usize>(input.size()));
    if (n >= 0) return;
    must(static_cast<int>(n));
    // all else is a limit, of ours or of nghttp2
    bool no_preface = n == NGHTTP2_ERR_BAD_CLIENT_MAGIC;
    fail(no_preface ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM);
}

happening connection::next() noexcept {
    while (told_ < events_.size()) {
        event e = events_[told_++];
        stream* s = find(e.id);
        if (e.what != happening::closed && s == nullptr) continue; // it has ended meanwhile
        if (e.what == happening::part) s->told = false;
        current_ = e.id;
        return e.what;
    }
    events_.clear();
    told_ = 0;
    return happening::nothing;
}

bytes connection::take(stream& s) {
    bytes part;
    i64 n = s.in.size();
    if (n == 0) return part;
    memcpy(part.room(n), s.in.data(), static_cast<usize>(n));
    part.grown(n);
    s.in.clear();
    must(nghttp2_session_consume(session_, s.id, static_cast<usize>(n)));
    return part;
}

void connection::submit(stream& s, i64 status, const fields& head, bool last) {
    vector<nghttp2_nv> all;
    all.reserve(head.size() + 1);
    string name = string::literal(":status");
    const char digits[] = {digit_of(status / 100), digit_of(status / 10), digit_of(status)};
    string value(digits, sizeof digits);
    all.push(pair_of(name, value));
    for (const auto& f : head) all.push(pair_of(get<0>(f), get<1>(f)));
    nghttp2_data_provider body{};
    body.source.ptr = &s;
    body.read_callback = callbacks::read;
    s.ended = last;
    int code = nghttp2_submit_response(session_, s.id, all.data(), static_cast<usize>(all.size()),
                                       last ? nullptr : &body);
    must(code);
    if (code != 0) reset(s);
}

void connection::append(stream& s, const void* from, i64 size) {
    if (s.ended || s.dropped) return;
    s.out.append(from, size);
    queued_ += size;
    resume(s);
}

void connection::end(stream& s) {
    if (s.dropped) return;
    s.ended = true;
    resume(s);
}

void connection::resume(stream& s) noexcept {
    if (!s.deferred) return;
    s.deferred = false;
    must(nghttp2_session_resume_data(session_, s.id));
}

// What is left of the reply is freed now, and the client gets none of it: RST_STREAM goes first.
void connection::reset(stream& s) {
    if (s.dropped) return;
    s.dropped = true;
    s.ended = false;
    queued_ -= s.out.size();
    s.out.clear();
    must(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, s.id, NGHTTP2_CANCEL));
}

void connection::proceed(const stream& s) {
    string name = string::literal(":status"), value = string::literal("100");
    nghttp2_nv status = pair_of(name, value);
    must(nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, s.id, nullptr, &status, 1, nullptr));
}

// What nghttp2 has to say. When it has failed it can say nothing more, so its last frame, GOAWAY,
// is made here.
bytes connection::output() {
    bytes out;
    while (why_ == NGHTTP2_NO_ERROR && out.size() < one_output) {
        const u8* from = nullptr;
        ssize_t n = nghttp2_session_mem_send(session_, &from);
        must(static_cast<int>(n));
        if (n < 0) fail(NGHTTP2_INTERNAL_ERROR);
        if (n <= 0) break;
        memcpy(out.room(n), from, static_cast<usize>(n));
        out.grown(n);
    }
    if (why_ == NGHTTP2_NO_ERROR || said_) return out;
    said_ = true;
    out.append_uint(8, 3); // bytes behind the head of the frame, section 6.8
    out.append_uint(NGHTTP2_GOAWAY, 1);
    out.append_uint(0, 5); // no flags; the stream is 0
    out.append_uint(static_cast<u64>(nghttp2_session_get_last_proc_stream_id(session_)), 4);
    out.append_uint(why_, 4);
    return out;
}

// Section 6.8: first that the end is near, so that no request is lost; when the client has read
// that, which of its requests are the last ones.
void connection::leave(bool now) {
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

bool connection::over() const noexcept {
    if (why_ != NGHTTP2_NO_ERROR) return said_;
    return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

} // namespace eve::io::http2

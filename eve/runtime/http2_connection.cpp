#include "http2_connection.hpp"

#include "fail.hpp"

#include <string.h>

namespace eve::io::multiplex {

namespace {

// Bytes that each field of a head counts besides its text, RFC 9113 section 6.5.2.
constexpr i64 of_field = 32;
// A head of so many times the limit is no longer looked at.
constexpr i64 hopeless = 8;

constexpr i64 one_output = 1 << 16;   // bytes; a guess
constexpr int most_continuations = 8; // frames behind HEADERS; as nghttp2 since 1.61

u8* bytes_of(const string& s) noexcept {
    return reinterpret_cast<u8*>(const_cast<char*>(s.data())); // it is only read
}

string text_of(const u8* text, usize size) {
    return string(reinterpret_cast<const char*>(text), static_cast<i64>(size));
}

// Whether the head is that of a reply of status 1xx, which comes before the one that was asked for.
bool is_interim(const fields& head) noexcept {
    for (const auto& f : head)
        if (get<0>(f) == string::literal(":status"))
            return get<1>(f).starts_with(string::literal("1"));
    return false;
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
        if (hd->type == NGHTTP2_PUSH_PROMISE) { // no client of ours takes any
            c.fail(NGHTTP2_PROTOCOL_ERROR);
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        if (hd->type != NGHTTP2_CONTINUATION || ++c.continuations_ <= most_continuations) return 0;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }

    static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        i32 id = frame->hd.stream_id;
        c.heading_ = id;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            must(nghttp2_session_set_stream_user_data(session, id, &c.add(id)));
        else if (stream* s = c.find(id)) s->head_fields = s->head_bytes = 0;
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
        bool fits = c.fits(*s);
        if (!fits && (s->headed || s->head_bytes > hopeless * c.most_bytes_)) {
            c.heading_ = 0;
            int code = c.charge(s->id);
            return code != 0 ? code : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; // resets the stream
        }
        if (fits && !s->headed)
            s->head.push(
                tuple<string, string>(text_of(name, name_size), text_of(value, value_size)));
        return 0;
    }

    static int frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        switch (frame->hd.type) {
        case NGHTTP2_HEADERS: return c.headed(frame->hd.stream_id, last);
        case NGHTTP2_DATA:
            if (stream* s = c.find(frame->hd.stream_id); s != nullptr && last) {
                s->whole = true;
                c.has_input(*s);
            }
            // of padding alone, perhaps
            return frame->hd.length <= frame->data.padlen && !last ? c.spend(allowance::of_frame)
                                                                   : 0;
        case NGHTTP2_PRIORITY: return 0;
        case NGHTTP2_RST_STREAM: {
            stream* s = c.find(frame->hd.stream_id);
            if (s != nullptr) s->cancelled = true;
            return c.cancelled(s);
        }
        case NGHTTP2_PING:
            if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) c.acknowledged();
            return c.spend(allowance::of_frame);
        case NGHTTP2_GOAWAY:
            c.goaway_ = frame->goaway.error_code;
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
        c.came(static_cast<i64>(size));
        c.has_input(*s);
        return 0;
    }

    static int sent(nghttp2_session*, const nghttp2_frame* frame, void* self) {
        connection& c = of(self);
        if (frame->hd.type == NGHTTP2_GOAWAY) c.fault_ = frame->goaway.error_code;
        c.sent(*frame);
        return 0;
    }

    static int unsent(nghttp2_session*, const nghttp2_frame* frame, int, void* self) {
        of(self).unsent(*frame);
        return 0;
    }

    static int closed(nghttp2_session*, i32 id, u32 why, void* self) {
        connection& c = of(self);
        if (c.heading_ == id) c.heading_ = 0;
        if (stream* s = c.find(id)) c.closes(*s, why);
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

    static nghttp2_session* open(connection* self, side which) {
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
        int code = which == side::server ? nghttp2_session_server_new2(&made, all, self, how)
                                         : nghttp2_session_client_new2(&made, all, self, how);
        if (code != 0) die_out_of_memory();
        nghttp2_option_del(how);
        nghttp2_session_callbacks_del(all);
        return made;
    }
};

connection::connection(side which, i64 most_fields, i64 most_bytes)
    : session_(callbacks::open(this, which)), most_fields_(most_fields), most_bytes_(most_bytes) {}

// nghttp2 calls nothing here.
connection::~connection() {
    nghttp2_session_del(session_);
    while (all_ != nullptr) forget(all_);
}

void connection::must(int code) {
    if (code == NGHTTP2_ERR_NOMEM) die_out_of_memory();
}

// Streams that nobody reads do not stop the others: the connection has room for all, and as much
// again, since nghttp2 announces what was taken only when that is half of the window.
void connection::settle_in(const nghttp2_settings_entry* ours, usize number, i64 streams,
                           i64 window) {
    i64 space = streams < largest_window / (2 * window) ? 2 * streams * window : largest_window;
    must(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, ours, number));
    must(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                               static_cast<i32>(space)));
}

void connection::list(vector<nghttp2_nv>& all, const string& name, const string& value) {
    all.push({bytes_of(name), bytes_of(value), static_cast<usize>(name.size()),
              static_cast<usize>(value.size()), NGHTTP2_NV_FLAG_NONE});
}

void connection::list(vector<nghttp2_nv>& all, const fields& head) {
    all.reserve(all.size() + head.size());
    for (const auto& f : head) list(all, get<0>(f), get<1>(f));
}

nghttp2_data_provider connection::body_of(stream& s) const noexcept {
    nghttp2_data_provider body{};
    body.source.ptr = &s;
    body.read_callback = callbacks::read;
    return body;
}

// nghttp2 does not know the streams of a client that have not begun, or have ended. They are few.
stream* connection::find(i64 id) const noexcept {
    auto* known =
        static_cast<stream*>(nghttp2_session_get_stream_user_data(session_, static_cast<i32>(id)));
    if (known != nullptr) return known;
    stream* s = all_;
    while (s != nullptr && s->id != id) s = s->next;
    return s;
}

stream& connection::add(i32 id) {
    auto* s = new stream(id);
    s->next = all_;
    if (all_ != nullptr) all_->previous = s;
    all_ = s;
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
    if (!s.told) happens({happening::part, s.id});
    s.told = true;
}

// A head or a trailer has come.
int connection::headed(i32 id, bool last) {
    heading_ = 0;
    stream* s = find(id);
    if (s == nullptr) return spend(allowance::of_frame);
    s->whole = s->whole || last;
    if (s->headed) {
        has_input(*s);
        return 0;
    }
    if (is_interim(s->head)) {
        s->head.clear();
        return spend(allowance::of_frame);
    }
    s->headed = true;
    happens({fits(*s) ? happening::head : happening::oversized, id});
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
        // it has ended meanwhile
        if (e.what != happening::closed && e.what != happening::refused && s == nullptr) continue;
        if (e.what == happening::part) s->told = false;
        current_ = e;
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

void connection::append(stream& s, const void* from, i64 size) {
    if (s.ended || s.dropped || s.closed) return;
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

// What is left of our body is freed now, and the peer gets none of it: RST_STREAM goes first.
void connection::reset(stream& s) {
    if (s.dropped) return;
    s.dropped = true;
    s.ended = false;
    queued_ -= s.out.size();
    s.out.clear();
    must(nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, s.id, NGHTTP2_CANCEL));
}

void connection::ping() { must(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr)); }

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

bool connection::over() const noexcept {
    if (why_ != NGHTTP2_NO_ERROR) return said_;
    return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

} // namespace eve::io::multiplex

#pragma once
// One connection of HTTP/2 and its streams, as nghttp2 tells of them: what servers and clients have
// in common. Owner only, all methods.
#include "buffer.hpp"
#include "multiplex.hpp"

#include <nghttp2/nghttp2.h>

namespace eve::io::multiplex {

// What may happen, as in std/io/multiplex.eve.
enum class happening : i64 { nothing, head, part, closed, oversized, refused };

// A request and its reply.
struct stream {
    explicit stream(i32 of) noexcept : id(of) {}

    const i32 id;
    stream* next = nullptr; // in the list of all
    stream* previous = nullptr;
    fields head;         // of the peer's message
    i64 head_fields = 0; // of the head or of the trailer under way
    i64 head_bytes = 0;
    byte_queue in;          // what has come of the peer's body, and nobody has taken
    byte_queue out;         // what no frame has of our body
    bool headed = false;    // the head has come; what comes now is a trailer
    bool whole = false;     // the peer has sent its last frame
    bool told = false;      // that there is input
    bool ended = false;     // nothing more will be in `out`
    bool deferred = false;  // nghttp2 waits for more of it
    bool dropped = false;   // it is about to be reset
    bool paid = false;      // the client has paid for its end, or is not to blame
    bool cancelled = false; // the peer has reset it
    bool closed = false;    // nghttp2 knows it no more
};

struct event {
    happening what = happening::nothing;
    i32 id = 0;
    u32 code = NGHTTP2_NO_ERROR; // of closed and refused
    bool by_peer = false;        // it has reset the stream
};

// What a peer may do for nothing. Frames that move no body cost some of it; time, output that is
// taken and replies that are complete earn it. A flood of pings, settings, resets, empty frames or
// small windows uses it up (CVE-2019-9511 to 9518, CVE-2023-44487).
class allowance {
public:
    // Its size in time: what it gets back in that.
    static constexpr i64 of_frame = 10'000'000;   // ns: 100 frames a second
    static constexpr i64 of_reset = 3 * of_frame; // a request was begun for nothing
    static constexpr i64 most = 1000 * of_frame;

    // Of output, and of a reply. Go's client acknowledges 4 KiB by two frames.
    static constexpr i64 of_byte = of_frame / 512;
    // Of input that is no body. nghttp2 does not tell of what it ignores: frames of no known type,
    // and those of streams that have ended. A client may have sent 64 KiB of each of them.
    static constexpr i64 of_input = of_frame / (16 << 10);

    void pass(duration now) noexcept {
        if (last_ != 0 && now > last_) earn(now - last_);
        last_ = now;
    }
    void earn(i64 ns) noexcept { left_ = ns < most - left_ ? left_ + ns : most; }
    // False: there is not so much left.
    bool spend(i64 ns) noexcept {
        left_ -= ns;
        return left_ >= 0;
    }

private:
    i64 left_ = most;
    duration last_ = 0;
};

class connection {
public:
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection();

    void receive(const bytes& input, duration now);
    happening next() noexcept;
    const event& current() const noexcept { return current_; }
    i32 heading() const noexcept { return heading_; }
    i64 queued() const noexcept { return queued_; }

    // Null if it has ended.
    stream* find(i64 id) const noexcept;
    bytes take(stream& s);
    void append(stream& s, const void* from, i64 size);
    void end(stream& s);
    // Nobody wants to know more of it.
    virtual void reset(stream& s);

    bytes output();
    virtual void leave(bool now) = 0;
    bool over() const noexcept;

    // Of a server.
    virtual void proceed(const stream&) {}
    virtual void reply(stream&, i64, const fields&, bool) {}
    // Of a client.
    virtual i64 room() const noexcept { return -1; }
    virtual i64 ask(const fields&, const bytes&, bool) { return 0; }
    void ping();
    i64 goaway() const noexcept { return goaway_; }
    i64 fault() const noexcept { return why_ != NGHTTP2_NO_ERROR ? why_ : fault_; }

protected:
    enum class side { server, client };

    connection(side which, i64 most_fields, i64 most_bytes);

    // What nghttp2 has sent, or cannot send; a stream that it forgets.
    virtual void sent(const nghttp2_frame& frame) = 0;
    virtual void unsent(const nghttp2_frame&) {}
    virtual void closes(stream& s, u32 why) = 0;
    // A RST_STREAM for this stream, or none; a part of a body; the answer to a ping.
    virtual int cancelled(stream* s) = 0;
    virtual void came(i64) {}
    virtual void acknowledged() {}

    // Announces our settings, and space for the bodies of so many streams, each with such a window,
    // that nobody has taken.
    void settle_in(const nghttp2_settings_entry* ours, usize number, i64 streams, i64 window);
    void happens(const event& e) { events_.push(event(e)); }
    stream& add(i32 id);
    void forget(stream* s) noexcept;
    int spend(i64 ns) noexcept;
    int charge(i32 id) noexcept;
    void fail(u32 why) noexcept;
    // Whether the head under way, or the last one, is not too large.
    bool fits(const stream& s) const noexcept {
        return s.head_fields <= most_fields_ && s.head_bytes <= most_bytes_;
    }

    static void must(int code);
    // Appends fields to those that nghttp2 is given. They must live until it has taken them.
    static void list(vector<nghttp2_nv>& all, const string& name, const string& value);
    static void list(vector<nghttp2_nv>& all, const fields& head);
    nghttp2_data_provider body_of(stream& s) const noexcept;

    // Bytes that a connection has room for, RFC 9113 section 6.9.1.
    static constexpr i64 largest_window = 0x7fff'ffff;

    nghttp2_session* session_ = nullptr;
    allowance allowance_;
    const i64 most_fields_; // of a head
    const i64 most_bytes_;
    u32 why_ = NGHTTP2_NO_ERROR; // the connection has failed; the code for the peer

private:
    struct callbacks;
    friend struct callbacks;

    void has_input(stream& s);
    int headed(i32 id, bool last);
    void resume(stream& s) noexcept;

    stream* all_ = nullptr;
    vector<event> events_;
    event current_;
    i64 told_ = 0;    // of the events
    i64 queued_ = 0;  // bytes in `out` of all streams
    i64 goaway_ = -1; // the code of the peer's GOAWAY; -1: there was none
    i32 heading_ = 0; // the stream whose head or trailer is coming; 0: none is
    i32 continuations_ = 0;
    u32 fault_ = NGHTTP2_NO_ERROR; // the code of nghttp2's own GOAWAY
    bool said_ = false;            // the peer gets to know that the connection has failed
};

} // namespace eve::io::multiplex

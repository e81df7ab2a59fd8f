#pragma once
// One connection of HTTP/2 and its streams, as nghttp2 tells of them. Owner only, all methods.
#include "buffer.hpp"
#include "http2.hpp"

#include <nghttp2/nghttp2.h>

namespace eve::io::http2 {

// What may happen, as in std/io/http2.eve.
enum class happening : i64 { nothing, head, part, closed, oversized };

// A request and its reply.
struct stream {
    explicit stream(i32 of) noexcept : id(of) {}

    const i32 id;
    stream* next = nullptr; // in the list of all
    stream* previous = nullptr;
    fields head;         // of the request
    i64 head_fields = 0; // of the head or of the trailer under way
    i64 head_bytes = 0;
    byte_queue in;  // what has come of the body, and nobody has taken
    byte_queue out; // what no frame has of the reply's body
    bool trailer = false;
    bool whole = false;    // the client has sent its last frame
    bool told = false;     // that there is input
    bool ended = false;    // nothing more will be in `out`
    bool deferred = false; // nghttp2 waits for more of it
    bool dropped = false;  // it is about to be reset
    bool paid = false;     // the client has paid for its end, or is not to blame
};

// What a client may do for nothing. Frames that move no body cost some of it; time, output that is
// taken and replies that are complete earn it. A flood of pings, settings, resets, empty frames or
// small windows uses it up (CVE-2019-9511 to 9518, CVE-2023-44487).
class allowance {
public:
    // Its size in time: what it gets back in that.
    static constexpr i64 of_frame = 10'000'000;   // ns: 100 frames a second
    static constexpr i64 of_reset = 3 * of_frame; // a request was begun for nothing
    static constexpr i64 most = 1000 * of_frame;

    // Of output. Go's client acknowledges 4 KiB by two frames.
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
    connection(i64 streams, i64 most_fields, i64 most_bytes);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    void receive(const bytes& input, duration now);
    happening next() noexcept;
    i32 current() const noexcept { return current_; }
    i32 heading() const noexcept { return heading_; }
    i64 queued() const noexcept { return queued_; }

    // Null if it has ended.
    stream* find(i64 id) const noexcept;
    bytes take(stream& s);
    void submit(stream& s, i64 status, const fields& head, bool last);
    void append(stream& s, const void* from, i64 size);
    void end(stream& s);
    void reset(stream& s);
    void proceed(const stream& s);

    bytes output();
    void leave(bool now);
    bool over() const noexcept;

private:
    struct event {
        happening what;
        i32 id;
    };
    struct callbacks;
    friend struct callbacks;

    void settle_in(i64 streams);
    void happens(happening what, i32 id) { events_.push(event{what, id}); }
    void has_input(stream& s);
    stream& begin(i32 id);
    int headed(i32 id, int category, bool last);
    void forget(stream* s) noexcept;
    void resume(stream& s) noexcept;
    int spend(i64 ns) noexcept;
    int charge(i32 id) noexcept;
    void fail(u32 why) noexcept;

    nghttp2_session* session_ = nullptr;
    stream* all_ = nullptr;
    vector<event> events_;
    i64 told_ = 0;    // of the events
    i64 queued_ = 0;  // bytes in `out` of all streams
    i64 most_fields_; // of a head
    i64 most_bytes_;
    allowance allowance_;
    i32 current_ = 0; // the stream of the last event
    i32 heading_ = 0; // the stream whose head or trailer is coming; 0: none is
    i32 continuations_ = 0;
    u32 why_ = NGHTTP2_NO_ERROR; // the connection has failed; the code for the client
    bool said_ = false;          // the client gets to know that
    bool leaving_ = false;
    bool left_ = false;
};

} // namespace eve::io::http2

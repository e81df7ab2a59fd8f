#include "deflate.hpp"

#include "vector.hpp"

#include <limits.h>
#include <zlib.h>

namespace eve::io::deflate {

using packing::direction;

namespace {

// zlib packs with windows of 9 to 15 bits, and takes a negative number for deflate without a head.
constexpr int narrowest = 9;
constexpr int most_memory = 8;   // memLevel; zlib's default, for a window of 15 bits
constexpr int at_boundary = 128; // of z_stream::data_type: between two blocks

constexpr i64 one_step = 1 << 14; // bytes of room for a call; a guess

// Stands behind each message and is not sent: RFC 7692 section 7.2.1.
constexpr u8 tail[] = {0x00, 0x00, 0xff, 0xff};
constexpr i64 tail_bytes = sizeof tail;

// The stream of the messages that are sent.
class packer {
public:
    packer() noexcept = default;
    packer(const packer&) = delete;
    packer& operator=(const packer&) = delete;
    ~packer() {
        if (window_ != 0) deflateEnd(&z_);
    }

    // Makes it a stream of this form, unless it is.
    void open(int window, int level) {
        if (window == window_ && level == level_) return;
        if (window_ != 0) deflateEnd(&z_);
        // Run lengths alone never refer back by more than one byte, so they fit a smaller window.
        bool runs = window < narrowest;
        int bits = runs ? narrowest : window;
        int memory = bits - narrowest + 2 < most_memory ? bits - narrowest + 2 : most_memory;
        z_ = z_stream{};
        int strategy = runs ? Z_RLE : Z_DEFAULT_STRATEGY;
        if (deflateInit2(&z_, level, Z_DEFLATED, -bits, memory, strategy) != Z_OK)
            die_out_of_memory();
        window_ = window;
        level_ = level;
    }

    // No later message refers to those before.
    void forget() { deflateReset(&z_); }

    // Empty: the message is no smaller so. The peer gets it as it is, and knows nothing of it.
    string pack(const string& message) {
        // Room for one byte more than may be of use.
        i64 room = message.size() + tail_bytes;
        if (message.empty() || room > INT_MAX) return string();
        bytes out;
        u8* start = out.room(room);
        z_.next_in = reinterpret_cast<u8*>(const_cast<char*>(message.data())); // it is only read
        z_.avail_in = static_cast<unsigned>(message.size());
        z_.next_out = start;
        z_.avail_out = static_cast<unsigned>(room);
        ::deflate(&z_, Z_SYNC_FLUSH); // cannot fail with room and a sound stream
        if (z_.avail_out == 0) {
            forget();
            return string();
        }
        return string(reinterpret_cast<const char*>(start), room - z_.avail_out - tail_bytes);
    }

private:
    z_stream z_{};
    int window_ = 0;
    int level_ = 0;
};

// The stream of the messages that come.
class unpacker {
public:
    unpacker() noexcept = default;
    unpacker(const unpacker&) = delete;
    unpacker& operator=(const unpacker&) = delete;
    ~unpacker() {
        if (window_ != 0) inflateEnd(&z_);
    }

    void open(int window) {
        if (window == window_) return;
        int code = window_ == 0 ? inflateInit2(&z_, -window) : inflateReset2(&z_, -window);
        if (code != Z_OK) die_out_of_memory();
        window_ = window;
    }

    void forget() { inflateReset(&z_); }

    result<string> unpack(const string& packed, i64 most) {
        bytes out;
        auto* data = reinterpret_cast<const u8*>(packed.data());
        bool good = run(data, packed.size(), most, out) && run(tail, tail_bytes, most, out);
        if (out.size() > most)
            return error(packing::too_large, string::literal("it is larger than is allowed"));
        if (!good) {
            const char* why = z_.msg != nullptr ? z_.msg : "it is damaged";
            return error(packing::damaged, string(why, static_cast<i64>(__builtin_strlen(why))));
        }
        if ((z_.data_type & at_boundary) == 0)
            return error(packing::damaged, string::literal("it ends early"));
        return string(reinterpret_cast<const char*>(out.data()), out.size());
    }

private:
    // False: the data is wrong, or too much has come out.
    bool run(const u8* data, i64 size, i64 most, bytes& out) {
        if (size > INT_MAX) return false;
        z_.next_in = const_cast<u8*>(data); // it is only read
        z_.avail_in = static_cast<unsigned>(size);
        for (;;) {
            // One byte more than may come shows that there are too many.
            i64 left = most - out.size();
            i64 room = left < one_step ? left + 1 : one_step;
            z_.next_out = out.room(room);
            z_.avail_out = static_cast<unsigned>(room);
            int code = ::inflate(&z_, Z_SYNC_FLUSH);
            out.grown(room - z_.avail_out);
            if (out.size() > most) return false;
            if (code == Z_MEM_ERROR) die_out_of_memory();
            // A block may say that it is the last one, and others follow: section 7.2.3.4.
            if (code == Z_STREAM_END) forget();
            else if (code != Z_OK && code != Z_BUF_ERROR) return false;
            if (z_.avail_in == 0 && z_.avail_out > 0) return true;
        }
    }

    z_stream z_{};
    int window_ = 0;
};

// A worker has these for all connections that keep nothing between two messages.
struct streams {
    packer out;
    unpacker in;
};

streams& of_thread() {
    static thread_local streams all;
    return all;
}

class deflate_coder final : public packing::message_coder {
public:
    deflate_coder(int level, direction own, direction peer) noexcept
        : level_(level), own_(own), peer_(peer) {}
    ~deflate_coder() override {
        delete out_;
        delete in_;
    }

    string pack(const string& message) override {
        if (own_.keeps && out_ == nullptr) out_ = new packer;
        packer& by = own_.keeps ? *out_ : of_thread().out;
        by.open(own_.window, level_);
        if (!own_.keeps) by.forget();
        return by.pack(message);
    }

    result<string> unpack(const string& packed, i64 most) override {
        if (peer_.keeps && in_ == nullptr) in_ = new unpacker;
        unpacker& by = peer_.keeps ? *in_ : of_thread().in;
        by.open(peer_.window);
        if (!peer_.keeps) by.forget();
        return by.unpack(packed, most);
    }

private:
    int level_;
    direction own_, peer_;
    packer* out_ = nullptr; // of a side that keeps its window, from its first message on
    unpacker* in_ = nullptr;
};

packing::message_coder* begin(i64 level, direction own, direction peer) {
    return new deflate_coder(static_cast<int>(level), own, peer);
}

} // namespace

packing::coders coders(i64 level) {
    return packing::coders(begin, level < 0 ? 0 : level > 9 ? 9 : level);
}

} // namespace eve::io::deflate

#include "compress.hpp"

#include "unpacking.hpp"

#include <limits.h>
#include <zlib.h>

namespace eve::util::compress {

namespace {

// What zlib's functions take as windowBits: 15 is the largest window, 16 more says gzip.
constexpr int of_zlib = 15;
constexpr int of_gzip = 15 + 16;
constexpr int usual_memory = 8; // memLevel; zlib's default

constexpr i64 one_step = 65536; // bytes of room for a call; a guess

z_stream* new_stream() { return new (place{buffer_new(1, sizeof(z_stream))}) z_stream{}; }

int fitting(i64 level) noexcept { return level < 0 ? 0 : level > 9 ? 9 : static_cast<int>(level); }

// Gives zlib the next part of the input, whose sizes have 32 bits.
void feed(z_stream& z, const bytes& data, i64& from) noexcept {
    i64 size = data.size() - from;
    if (size > INT_MAX) size = INT_MAX;
    z.next_in = const_cast<u8*>(data.data()) + from; // it is only read
    z.avail_in = static_cast<unsigned>(size);
    from += size;
}

} // namespace

packer::packer(int window, i64 level) : stream_(new_stream()) {
    int code =
        deflateInit2(stream_, fitting(level), Z_DEFLATED, window, usual_memory, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) die_out_of_memory();
}

packer& packer::operator=(packer&& other) noexcept {
    z_stream* mine = stream_;
    stream_ = other.stream_;
    other.stream_ = mine;
    return *this;
}

packer::~packer() {
    if (stream_ == nullptr) return;
    deflateEnd(stream_);
    buffer_free(stream_);
}

bytes packer::run(const bytes& data, int how) {
    z_stream& z = *stream_;
    bytes out;
    i64 from = 0;
    do {
        feed(z, data, from);
        int now = from < data.size() ? Z_NO_FLUSH : how;
        do {
            z.next_out = out.room(one_step);
            z.avail_out = static_cast<unsigned>(one_step);
            deflate(&z, now); // cannot fail with room and a sound stream
            out.grown(one_step - z.avail_out);
        } while (z.avail_out == 0);
    } while (from < data.size());
    return out;
}

bytes packer::write(const bytes& data) { return run(data, Z_NO_FLUSH); }
bytes packer::flush() { return run(bytes(), Z_SYNC_FLUSH); }

bytes packer::finish() {
    bytes out = run(bytes(), Z_FINISH);
    deflateReset(stream_);
    return out;
}

unpacker::unpacker(int window, i64 most)
    : stream_(new_stream()), left_(most < 0 ? 0 : most), state_(state::before) {
    if (inflateInit2(stream_, window) != Z_OK) die_out_of_memory();
}

unpacker& unpacker::operator=(unpacker&& other) noexcept {
    unpacker fresh(move(other));
    z_stream* mine = stream_;
    stream_ = fresh.stream_;
    fresh.stream_ = mine;
    left_ = fresh.left_;
    state_ = fresh.state_;
    return *this;
}

unpacker::~unpacker() {
    if (stream_ == nullptr) return;
    inflateEnd(stream_);
    buffer_free(stream_);
}

result<bytes> unpacker::wrong(i64 code, const char* why) {
    state_ = state::failed;
    return error(code, string::literal(why));
}

// A stream may follow another one (RFC 1952, section 2.2); what comes out is one text.
result<bytes> unpacker::write(const bytes& data) {
    if (state_ == state::failed) return unpacking::wrong_before();
    z_stream& z = *stream_;
    bytes out;
    i64 from = 0;
    do {
        feed(z, data, from);
        bool more = z.avail_in > 0;
        while (more) {
            if (state_ == state::between) inflateReset(&z);
            state_ = state::inside;
            // One byte more than may come shows that there are too many.
            i64 room = left_ < one_step ? left_ + 1 : one_step;
            z.next_out = out.room(room);
            z.avail_out = static_cast<unsigned>(room);
            int code = ::inflate(&z, Z_NO_FLUSH);
            i64 came = room - z.avail_out;
            out.grown(came);
            if (came > left_)
                return wrong(unpacking::too_large, "the data is larger than is allowed");
            left_ -= came;
            if (code == Z_STREAM_END) state_ = state::between;
            else if (code == Z_MEM_ERROR) die_out_of_memory();
            else if (code != Z_OK && code != Z_BUF_ERROR)
                return wrong(unpacking::damaged, z.msg != nullptr ? z.msg : "the data is damaged");
            more = z.avail_in > 0 || (code == Z_OK && z.avail_out == 0);
        }
    } while (from < data.size());
    return move(out);
}

result<void> unpacker::finish() {
    if (state_ == state::between) return result<void>();
    return unpacking::unfinished(state_ == state::failed);
}

packer gzip_packer(i64 level) { return packer(of_gzip, level); }
packer zlib_packer(i64 level) { return packer(of_zlib, level); }
unpacker gzip_unpacker(i64 most) { return unpacker(of_gzip, most); }
unpacker zlib_unpacker(i64 most) { return unpacker(of_zlib, most); }

namespace {

bytes packed(packer p, const bytes& data) {
    bytes out = p.write(data);
    out.append(p.finish());
    return out;
}

} // namespace

bytes gzip(const bytes& data, i64 level) { return packed(gzip_packer(level), data); }
bytes zlib(const bytes& data, i64 level) { return packed(zlib_packer(level), data); }
result<bytes> gunzip(const bytes& data, i64 most) {
    return unpacking::whole(gzip_unpacker(most), data);
}
result<bytes> unzlib(const bytes& data, i64 most) {
    return unpacking::whole(zlib_unpacker(most), data);
}

} // namespace eve::util::compress

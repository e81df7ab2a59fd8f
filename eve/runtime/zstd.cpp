#include "zstd.hpp"

#include "unpacking.hpp"

#include <zstd.h>
#include <zstd_errors.h>

namespace eve::util::zstd {

namespace {

constexpr i64 least_level = 1;
constexpr i64 most_level = 19; // above, windows are larger than largest_window

constexpr int largest_window = 23; // its logarithm: 8 MiB, RFC 9659

constexpr i64 one_step = 65536; // bytes of room for a call; a guess

int fitting(i64 level) noexcept {
    if (level < least_level) return least_level;
    return static_cast<int>(level > most_level ? most_level : level);
}

// With a sound stream and parameters only a lack of memory can fail.
void must(size_t code) {
    if (ZSTD_isError(code)) die_out_of_memory();
}

bytes run(ZSTD_CCtx* stream, const bytes& data, ZSTD_EndDirective how) {
    bytes out;
    ZSTD_inBuffer in{data.data(), static_cast<size_t>(data.size()), 0};
    for (;;) {
        ZSTD_outBuffer to{out.room(one_step), static_cast<size_t>(one_step), 0};
        size_t left = ZSTD_compressStream2(stream, &to, &in, how);
        must(left);
        out.grown(static_cast<i64>(to.pos));
        bool done = how == ZSTD_e_continue ? in.pos == in.size : left == 0;
        if (done) return out;
    }
}

} // namespace

packer::packer(i64 level) : stream_(ZSTD_createCCtx()) {
    if (stream_ == nullptr) die_out_of_memory();
    must(ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, fitting(level)));
    must(ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1));
}

packer& packer::operator=(packer&& other) noexcept {
    ZSTD_CCtx_s* mine = stream_;
    stream_ = other.stream_;
    other.stream_ = mine;
    return *this;
}

packer::~packer() { ZSTD_freeCCtx(stream_); }

bytes packer::write(const bytes& data) { return run(stream_, data, ZSTD_e_continue); }
bytes packer::flush() { return run(stream_, bytes(), ZSTD_e_flush); }
bytes packer::finish() { return run(stream_, bytes(), ZSTD_e_end); }
bytes packer::whole(const bytes& data) { return run(stream_, data, ZSTD_e_end); }

unpacker::unpacker(i64 most)
    : stream_(ZSTD_createDCtx()), left_(most < 0 ? 0 : most), state_(state::inside) {
    if (stream_ == nullptr) die_out_of_memory();
    must(ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, largest_window));
}

unpacker& unpacker::operator=(unpacker&& other) noexcept {
    unpacker fresh(move(other));
    ZSTD_DCtx_s* mine = stream_;
    stream_ = fresh.stream_;
    fresh.stream_ = mine;
    left_ = fresh.left_;
    state_ = fresh.state_;
    return *this;
}

unpacker::~unpacker() { ZSTD_freeDCtx(stream_); }

error unpacker::wrong(i64 code, const char* why) {
    state_ = state::failed;
    return error(code, string::literal(why));
}

// code is one of the library.
error unpacker::wrong(unsigned long code) {
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation: die_out_of_memory();
    case ZSTD_error_frameParameter_windowTooLarge:
        return wrong(unpacking::too_large, "the data was packed with a window of more than 8 MiB");
    default: return wrong(unpacking::damaged, ZSTD_getErrorName(code));
    }
}

// A frame may follow another one (RFC 8878, section 3.1); what comes out is one text.
result<bytes> unpacker::write(const bytes& data) {
    if (state_ == state::failed) return unpacking::wrong_before();
    bytes out;
    ZSTD_inBuffer in{data.data(), static_cast<size_t>(data.size()), 0};
    bool more = data.size() > 0;
    while (more) {
        // One byte more than may come shows that there are too many.
        i64 room = left_ < one_step ? left_ + 1 : one_step;
        ZSTD_outBuffer to{out.room(room), static_cast<size_t>(room), 0};
        size_t code = ZSTD_decompressStream(stream_, &to, &in);
        i64 came = static_cast<i64>(to.pos);
        out.grown(came);
        if (came > left_) return wrong(unpacking::too_large, "the data is larger than is allowed");
        left_ -= came;
        if (ZSTD_isError(code)) return wrong(code);
        state_ = code == 0 ? state::between : state::inside;
        more = in.pos < in.size || (code != 0 && to.pos == to.size);
    }
    return move(out);
}

result<void> unpacker::finish() {
    if (state_ == state::between) return result<void>();
    return unpacking::unfinished(state_ == state::failed);
}

packer new_packer(i64 level) { return packer(level); }
unpacker new_unpacker(i64 most) { return unpacker(most); }

bytes pack(const bytes& data, i64 level) { return packer(level).whole(data); }

result<bytes> unpack(const bytes& data, i64 most) { return unpacking::whole(unpacker(most), data); }

} // namespace eve::util::zstd

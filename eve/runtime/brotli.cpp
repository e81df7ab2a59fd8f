#include "brotli.hpp"

#include "unpacking.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>

namespace eve::util::brotli {

namespace {

constexpr i64 one_step = 65536; // bytes of room for a call; a guess

i64 fitting(i64 level) noexcept {
    if (level < BROTLI_MIN_QUALITY) return BROTLI_MIN_QUALITY;
    return level > BROTLI_MAX_QUALITY ? BROTLI_MAX_QUALITY : level;
}

bytes run(BrotliEncoderState* stream, const bytes& data, BrotliEncoderOperation how) {
    bytes out;
    size_t left = static_cast<size_t>(data.size());
    const u8* from = data.data();
    do {
        u8* to = out.room(one_step);
        size_t room = static_cast<size_t>(one_step);
        // With a sound stream only a lack of memory can fail.
        if (!BrotliEncoderCompressStream(stream, how, &left, &from, &room, &to, nullptr))
            die_out_of_memory();
        out.grown(one_step - static_cast<i64>(room));
    } while (left > 0 || BrotliEncoderHasMoreOutput(stream));
    return out;
}

bool lacks_memory(BrotliDecoderErrorCode code) noexcept {
    return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
           code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

} // namespace

packer::packer(i64 level) : stream_(nullptr), level_(fitting(level)) {}

packer& packer::operator=(packer&& other) noexcept {
    BrotliEncoderStateStruct* mine = stream_;
    stream_ = other.stream_;
    other.stream_ = mine;
    level_ = other.level_;
    return *this;
}

packer::~packer() { BrotliEncoderDestroyInstance(stream_); }

void packer::open() {
    if (stream_ != nullptr) return;
    stream_ = BrotliEncoderCreateInstance(nullptr, nullptr, nullptr);
    if (stream_ == nullptr) die_out_of_memory();
    BrotliEncoderSetParameter(stream_, BROTLI_PARAM_QUALITY, static_cast<u32>(level_));
}

bytes packer::write(const bytes& data) {
    open();
    return run(stream_, data, BROTLI_OPERATION_PROCESS);
}

bytes packer::flush() {
    open();
    return run(stream_, bytes(), BROTLI_OPERATION_FLUSH);
}

bytes packer::finish() { return whole(bytes()); }

// A stream of the library cannot begin anew, so the next write makes another one.
bytes packer::whole(const bytes& data) {
    open();
    bytes out = run(stream_, data, BROTLI_OPERATION_FINISH);
    BrotliEncoderDestroyInstance(stream_);
    stream_ = nullptr;
    return out;
}

unpacker::unpacker(i64 most)
    : stream_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)), left_(most < 0 ? 0 : most),
      state_(state::inside) {
    if (stream_ == nullptr) die_out_of_memory();
}

unpacker& unpacker::operator=(unpacker&& other) noexcept {
    unpacker fresh(move(other));
    BrotliDecoderStateStruct* mine = stream_;
    stream_ = fresh.stream_;
    fresh.stream_ = mine;
    left_ = fresh.left_;
    state_ = fresh.state_;
    return *this;
}

unpacker::~unpacker() { BrotliDecoderDestroyInstance(stream_); }

error unpacker::wrong(i64 code, const char* why) {
    state_ = state::failed;
    return error(code, string::literal(why));
}

result<bytes> unpacker::write(const bytes& data) {
    if (state_ == state::failed) return unpacking::wrong_before();
    bytes out;
    size_t left = static_cast<size_t>(data.size());
    const u8* from = data.data();
    bool more = data.size() > 0;
    while (more) {
        if (state_ == state::ended)
            return wrong(unpacking::damaged, "there is more behind the end");
        // One byte more than may come shows that there are too many.
        i64 room = left_ < one_step ? left_ + 1 : one_step;
        u8* to = out.room(room);
        size_t free = static_cast<size_t>(room);
        BrotliDecoderResult code =
            BrotliDecoderDecompressStream(stream_, &left, &from, &free, &to, nullptr);
        i64 came = room - static_cast<i64>(free);
        out.grown(came);
        if (came > left_) return wrong(unpacking::too_large, "the data is larger than is allowed");
        left_ -= came;
        if (code == BROTLI_DECODER_RESULT_ERROR) {
            BrotliDecoderErrorCode why = BrotliDecoderGetErrorCode(stream_);
            if (lacks_memory(why)) die_out_of_memory();
            return wrong(unpacking::damaged, "the data is damaged");
        }
        if (code == BROTLI_DECODER_RESULT_SUCCESS) state_ = state::ended;
        more = left > 0 || code == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
    }
    return move(out);
}

result<void> unpacker::finish() {
    if (state_ == state::ended) return result<void>();
    return unpacking::unfinished(state_ == state::failed);
}

packer new_packer(i64 level) { return packer(level); }
unpacker new_unpacker(i64 most) { return unpacker(most); }

bytes pack(const bytes& data, i64 level) { return packer(level).whole(data); }

result<bytes> unpack(const bytes& data, i64 most) { return unpacking::whole(unpacker(most), data); }

} // namespace eve::util::brotli

#pragma once
// The pixels of a picture, and what is done to them without a library.
#include "result.hpp"
#include "vector.hpp"

namespace eve::util::image {

// Codes of errors, as in std/util/image.eve.
enum code : i64 { damaged = 1, cut_off = 2, too_large = 3, unsupported = 4 };

constexpr i64 longest_side = 65500; // libjpeg's JPEG_MAX_DIMENSION

// Rows from the top, pixels from the left, bytes in the order red, green, blue, alpha. Colours are
// not multiplied by alpha.
struct pixels {
    i64 width = 0;
    i64 height = 0;
    i64 channels = 3; // or 4, with alpha
    bytes data;

    // Makes room for these.
    void resize(i64 w, i64 h, i64 c) {
        width = w;
        height = h;
        channels = c;
        data.resize(w * h * c);
    }
    u8* row(i64 y) noexcept { return data.data() + y * width * channels; }
    const u8* row(i64 y) const noexcept { return data.data() + y * width * channels; }
};

// The picture in another size, by a Lanczos filter of three lobes. Sizes are at least 1.
pixels resample(const pixels& from, i64 width, i64 height);
// The picture without alpha, on white.
pixels on_white(const pixels& from);
// The picture as it is to be seen. `orientation` is that of EXIF, 1 to 8.
pixels upright(pixels from, int orientation);
// The orientation in the data of an APP1 marker; 1, as it is, if there is none or the data is wrong
// (EXIF 2.32, section 4.6).
int orientation_in(const u8* data, i64 size) noexcept;

// All may wait for nothing but the processor. The limits are those of std/util/image.eve.
result<pixels> decode_jpeg(const bytes& data, i64 most, i64 enough, bool turns);
result<pixels> decode_png(const bytes& data, i64 most);
result<pixels> decode_gif(const bytes& data, i64 most);
result<bytes> encode_jpeg(const pixels& from, i64 quality);
result<bytes> encode_png(const pixels& from);

// Whether there are at most `most` pixels, as far as 64 bits reach.
inline bool within(i64 width, i64 height, i64 most) noexcept {
    i64 all;
    return !__builtin_mul_overflow(width, height, &all) && all <= most;
}
inline error too_many_pixels() {
    return error(too_large, string::literal("the picture is larger than is allowed"));
}

} // namespace eve::util::image

// PNG by libpng's simplified interface, which reports errors by results, and converts all forms of
// pixels to 8 bits a channel in sRGB.
#include "image_pixels.hpp"

#include <png.h>
#include <string.h>

namespace eve::util::image {

namespace {

// What libpng keeps while a picture is read.
struct reading : png_image {
    reading() noexcept : png_image{} { version = PNG_IMAGE_VERSION; }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() { png_image_free(this); }
};

error error_of(const png_image& of) {
    string why(of.message, static_cast<i64>(strnlen(of.message, sizeof of.message)));
    bool early = why == string::literal("read beyond end of data") ||
                 why == string::literal("Not enough image data");
    return error(early ? cut_off : damaged, why);
}

} // namespace

result<pixels> decode_png(const bytes& data, i64 most) {
    reading of;
    if (png_image_begin_read_from_memory(&of, data.data(), static_cast<usize>(data.size())) == 0)
        return error_of(of);
    if (!within(of.width, of.height, most)) return too_many_pixels();
    bool alpha = (of.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    of.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    pixels to;
    to.resize(of.width, of.height, alpha ? 4 : 3);
    if (png_image_finish_read(&of, nullptr, to.data.data(), 0, nullptr) == 0) return error_of(of);
    return to;
}

result<bytes> encode_png(const pixels& from) {
    png_image of{};
    of.version = PNG_IMAGE_VERSION;
    of.width = static_cast<png_uint_32>(from.width);
    of.height = static_cast<png_uint_32>(from.height);
    of.format = from.channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    auto size = static_cast<png_alloc_size_t>(PNG_IMAGE_PNG_SIZE_MAX(of));
    bytes out;
    if (png_image_write_to_memory(&of, out.room(static_cast<i64>(size)), &size, 0, from.data.data(),
                                  0, nullptr) == 0)
        return error_of(of);
    out.grown(static_cast<i64>(size));
    return out;
}

} // namespace eve::util::image

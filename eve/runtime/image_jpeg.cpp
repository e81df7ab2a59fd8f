// JPEG by libjpeg, which reports errors by a call that must not return: it jumps. So what such a
// jump leaves has no destructors, and lies in an object that the caller of setjmp does not own.
#include "image_pixels.hpp"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

namespace eve::util::image {

namespace {

// A progressive picture decodes all of its pixels for each scan, and a scan takes a few bytes. Real
// pictures have about ten (libjpeg-turbo's fuzzers have a limit of 500).
constexpr int most_scans = 100;

struct trouble : jpeg_error_mgr {
    jmp_buf back;
    char said[JMSG_LENGTH_MAX];
    code what;
};

[[noreturn]] void give_up(j_common_ptr of, code what) {
    auto* t = static_cast<trouble*>(of->err);
    t->what = what;
    longjmp(t->back, 1);
}

void on_error(j_common_ptr of) {
    of->err->format_message(of, static_cast<trouble*>(of->err)->said);
    give_up(of, damaged);
}

// Of the warnings those count that say that pixels are missing.
void on_message(j_common_ptr of, int level) {
    if (level != -1) return;
    if (of->err->msg_code != JWRN_JPEG_EOF && of->err->msg_code != JWRN_HIT_MARKER) return;
    strcpy(static_cast<trouble*>(of->err)->said, "the data ends early");
    give_up(of, cut_off);
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr of) {
    auto* d = reinterpret_cast<j_decompress_ptr>(of);
    if (d->input_scan_number <= most_scans) return;
    strcpy(static_cast<trouble*>(of->err)->said, "the picture has too many scans");
    give_up(of, damaged);
}

void prepare(trouble& t) {
    jpeg_std_error(&t);
    t.error_exit = on_error;
    t.emit_message = on_message;
    t.output_message = on_output;
}

error error_of(const trouble& t) {
    return error(t.what, string(t.said, static_cast<i64>(strlen(t.said))));
}

struct decoder {
    jpeg_decompress_struct d;
    jpeg_progress_mgr progress;
    trouble wrong;
    bool large = false;
    int orientation = 1;

    decoder() noexcept : d{}, progress{}, wrong{} {
        prepare(wrong);
        d.err = &wrong;
        progress.progress_monitor = on_progress;
    }
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;
    ~decoder() { jpeg_destroy_decompress(&d); }
};

// The head of the picture, and how it is to be decoded. False: `wrong` or `large` says why not.
bool begin(decoder& of, const bytes& data, i64 most, i64 enough) {
    if (setjmp(of.wrong.back) != 0) return false;
    jpeg_decompress_struct& d = of.d;
    jpeg_create_decompress(&d);
    d.progress = &of.progress;
    jpeg_mem_src(&d, data.data(), static_cast<unsigned long>(data.size()));
    jpeg_save_markers(&d, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&d, TRUE);
    of.large = !within(d.image_width, d.image_height, most);
    if (of.large) return false;
    if (d.marker_list != nullptr)
        of.orientation = orientation_in(d.marker_list->data, d.marker_list->data_length);
    bool four = d.jpeg_color_space == JCS_CMYK || d.jpeg_color_space == JCS_YCCK;
    d.out_color_space = four ? JCS_CMYK : JCS_RGB;
    i64 longest = d.image_width > d.image_height ? d.image_width : d.image_height;
    d.scale_num = 1;
    d.scale_denom = 1;
    while (enough > 0 && d.scale_denom < 8 && longest / (d.scale_denom * 2) >= enough)
        d.scale_denom *= 2;
    jpeg_start_decompress(&d);
    return true;
}

// The next row, which has room for all components.
bool read_row(decoder& of, u8* to) {
    if (setjmp(of.wrong.back) != 0) return false;
    JSAMPROW row = to;
    jpeg_read_scanlines(&of.d, &row, 1);
    return true;
}

bool finish(decoder& of) {
    if (setjmp(of.wrong.back) != 0) return false;
    jpeg_finish_decompress(&of.d);
    return true;
}

// A row of CMYK as one of RGB. Adobe's programs store inks inverted, and mark that.
void from_inks(const u8* row, i64 width, bool inverted, u8* to) noexcept {
    for (i64 x = 0; x < width; x++, row += 4, to += 3) {
        int black = inverted ? row[3] : 255 - row[3];
        for (int c = 0; c < 3; c++)
            to[c] = static_cast<u8>((inverted ? row[c] : 255 - row[c]) * black / 255);
    }
}

struct encoder {
    jpeg_compress_struct c;
    trouble wrong;
    unsigned char* data = nullptr; // libjpeg's
    unsigned long size = 0;

    encoder() noexcept : c{}, wrong{} {
        prepare(wrong);
        c.err = &wrong;
    }
    encoder(const encoder&) = delete;
    encoder& operator=(const encoder&) = delete;
    ~encoder() {
        jpeg_destroy_compress(&c);
        free(data);
    }
};

bool encode(encoder& by, const pixels& from, int quality) {
    if (setjmp(by.wrong.back) != 0) return false;
    jpeg_compress_struct& c = by.c;
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &by.data, &by.size);
    c.image_width = static_cast<JDIMENSION>(from.width);
    c.image_height = static_cast<JDIMENSION>(from.height);
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, quality, TRUE);
    c.optimize_coding = TRUE;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = const_cast<u8*>(from.row(c.next_scanline)); // it is only read
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    return true;
}

} // namespace

result<pixels> decode_jpeg(const bytes& data, i64 most, i64 enough, bool turns) {
    decoder of;
    if (!begin(of, data, most, enough)) return of.large ? too_many_pixels() : error_of(of.wrong);
    pixels to;
    to.resize(of.d.output_width, of.d.output_height, 3);
    bool inks = of.d.out_color_space == JCS_CMYK;
    bytes row;
    if (inks) row.resize(to.width * 4);
    while (of.d.output_scanline < of.d.output_height) {
        u8* line = to.row(of.d.output_scanline);
        if (!read_row(of, inks ? row.data() : line)) return error_of(of.wrong);
        if (inks) from_inks(row.data(), to.width, of.d.saw_Adobe_marker != 0, line);
    }
    if (!finish(of)) return error_of(of.wrong);
    return turns ? upright(move(to), of.orientation) : move(to);
}

result<bytes> encode_jpeg(const pixels& from, i64 quality) {
    encoder by;
    int q = quality < 1 ? 1 : quality > 100 ? 100 : static_cast<int>(quality);
    if (!encode(by, from, q)) return error_of(by.wrong);
    bytes out;
    i64 size = static_cast<i64>(by.size);
    memcpy(out.room(size), by.data, by.size);
    out.grown(size);
    return out;
}

} // namespace eve::util::image

#include "image_pixels.hpp"

#include <math.h>

namespace eve::util::image {

namespace {

constexpr f64 lobes = 3;

f64 sinc(f64 x) noexcept {
    if (x == 0) return 1;
    return sin(M_PI * x) / (M_PI * x);
}

f64 lanczos(f64 x) noexcept { return fabs(x) < lobes ? sinc(x) * sinc(x / lobes) : 0; }

// For each place of a resampled line: which places of the original one it is made of, and how much
// of each.
class taps {
public:
    taps(i64 from, i64 to) {
        f64 scale = f64(from) / f64(to);
        f64 stretch = scale > 1 ? scale : 1; // a smaller line takes the mean of more places
        for (i64 i = 0; i < to; i++) {
            f64 center = (f64(i) + 0.5) * scale;
            i64 low = i64(floor(center - lobes * stretch));
            i64 high = i64(ceil(center + lobes * stretch));
            part p{low < 0 ? 0 : low, high > from ? from : high, weights_.size()};
            f64 sum = 0;
            for (i64 at = p.low; at < p.high; at++)
                sum += lanczos((f64(at) + 0.5 - center) / stretch);
            for (i64 at = p.low; at < p.high; at++)
                weights_.push(f32(lanczos((f64(at) + 0.5 - center) / stretch) / sum));
            if (p.high - p.low > widest_) widest_ = p.high - p.low;
            parts_.push(p);
        }
    }
    i64 low(i64 i) const noexcept { return parts_[i].low; }
    i64 high(i64 i) const noexcept { return parts_[i].high; }
    // The weight of low(i); those of the places behind it follow.
    const f32* weights(i64 i) const noexcept { return weights_.data() + parts_[i].first; }
    i64 widest() const noexcept { return widest_; }

private:
    struct part {
        i64 low, high; // without high
        i64 first;     // in weights_
    };
    vector<part> parts_;
    vector<f32> weights_;
    i64 widest_ = 0;
};

// A row as numbers. Colours are multiplied by alpha: an invisible pixel has no say in the colour of
// its neighbours.
template <int Channels> void load(const u8* row, i64 width, f32* to) noexcept {
    for (i64 x = 0; x < width; x++, row += Channels, to += Channels) {
        f32 alpha = Channels == 4 ? f32(row[Channels - 1]) / 255 : 1;
        for (int c = 0; c < 3; c++) to[c] = f32(row[c]) * alpha;
        if (Channels == 4) to[Channels - 1] = f32(row[Channels - 1]);
    }
}

template <int Channels> void filter(const f32* row, const taps& by, i64 width, f32* to) noexcept {
    for (i64 x = 0; x < width; x++, to += Channels) {
        f32 sum[Channels] = {};
        const f32* weight = by.weights(x);
        for (i64 at = by.low(x); at < by.high(x); at++, weight++)
            for (int c = 0; c < Channels; c++) sum[c] += *weight * row[at * Channels + c];
        for (int c = 0; c < Channels; c++) to[c] = sum[c];
    }
}

u8 rounded(f32 x) noexcept { return x <= 0 ? u8(0) : x >= 255 ? u8(255) : u8(x + 0.5f); }

template <int Channels> void store(const f32* row, i64 width, u8* to) noexcept {
    for (i64 x = 0; x < width; x++, row += Channels, to += Channels) {
        f32 alpha = Channels == 4 ? row[Channels - 1] / 255 : 1;
        for (int c = 0; c < 3; c++) to[c] = alpha > 0 ? rounded(row[c] / alpha) : u8(0);
        if (Channels == 4) to[Channels - 1] = rounded(row[Channels - 1]);
    }
}

// First across, then down. Only the rows that the next one is made of are kept.
template <int Channels> void resample_by(const pixels& from, pixels& to) {
    taps across(from.width, to.width);
    taps down(from.height, to.height);
    i64 row_size = to.width * Channels;
    auto original = vector<f32>::sized(from.width * Channels);
    auto rows = vector<f32>::sized(down.widest() * row_size);
    auto sum = vector<f32>::sized(row_size);
    i64 loaded = 0; // rows of the original
    for (i64 y = 0; y < to.height; y++) {
        for (; loaded < down.high(y); loaded++) {
            load<Channels>(from.row(loaded), from.width, original.data());
            filter<Channels>(original.data(), across, to.width,
                             rows.data() + loaded % down.widest() * row_size);
        }
        const f32* weight = down.weights(y);
        sum.fill(0);
        for (i64 at = down.low(y); at < down.high(y); at++, weight++) {
            const f32* row = rows.data() + at % down.widest() * row_size;
            for (i64 i = 0; i < row_size; i++) sum[i] += *weight * row[i];
        }
        store<Channels>(sum.data(), to.width, to.row(y));
    }
}

} // namespace

pixels resample(const pixels& from, i64 width, i64 height) {
    pixels to;
    to.resize(width, height, from.channels);
    if (from.channels == 4) resample_by<4>(from, to);
    else resample_by<3>(from, to);
    return to;
}

pixels on_white(const pixels& from) {
    pixels to;
    to.resize(from.width, from.height, 3);
    const u8* at = from.data.data();
    u8* out = to.data.data();
    for (i64 i = 0; i < from.width * from.height; i++, at += from.channels, out += 3) {
        int alpha = from.channels == 4 ? at[3] : 255;
        for (int c = 0; c < 3; c++)
            out[c] = static_cast<u8>((at[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
    return to;
}

// From 5 on rows and columns change places. Of the others 2 and 3 mirror the columns, 3 and 4 the
// rows; of those 7 and 8 the new rows, 6 and 7 the new columns.
pixels upright(pixels from, int orientation) {
    if (orientation <= 1 || orientation > 8) return from;
    bool turns = orientation >= 5;
    bool mirrors_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    bool mirrors_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    pixels to;
    to.resize(turns ? from.height : from.width, turns ? from.width : from.height, from.channels);
    for (i64 y = 0; y < to.height; y++) {
        u8* out = to.row(y);
        i64 line = mirrors_y ? to.height - 1 - y : y;
        for (i64 x = 0; x < to.width; x++, out += to.channels) {
            i64 column = mirrors_x ? to.width - 1 - x : x;
            const u8* at = turns ? from.row(column) + line * from.channels
                                 : from.row(line) + column * from.channels;
            for (i64 c = 0; c < to.channels; c++) out[c] = at[c];
        }
    }
    return to;
}

int orientation_in(const u8* data, i64 size) noexcept {
    constexpr i64 head = 6, tiff = 8, entry = 12;
    if (size < head + tiff || __builtin_memcmp(data, "Exif\0\0", head) != 0) return 1;
    data += head;
    size -= head;
    bool little = data[0] == 'I';
    if (data[0] != data[1] || (!little && data[0] != 'M')) return 1;
    auto number = [&](i64 at, int bytes) {
        i64 n = 0;
        for (int i = 0; i < bytes; i++) n = n << 8 | data[little ? at + bytes - 1 - i : at + i];
        return n;
    };
    i64 at = number(4, 4); // of the first directory
    if (number(2, 2) != 42 || at > size - 2) return 1;
    i64 entries = number(at, 2);
    at += 2;
    for (; entries > 0 && at <= size - entry; entries--, at += entry) {
        constexpr i64 tag = 0x112, type_short = 3;
        if (number(at, 2) != tag) continue;
        i64 turn = number(at + 2, 2) == type_short ? number(at + 8, 2) : 1;
        return turn >= 1 && turn <= 8 ? static_cast<int>(turn) : 1;
    }
    return 1;
}

} // namespace eve::util::image

// GIF (CompuServe's specification of version 89a): the first picture, on the logical screen. What
// it does not cover is transparent.
#include "image_pixels.hpp"

namespace eve::util::image {

namespace {

constexpr int most_codes = 4096; // of 12 bits

error ends_early() { return error(cut_off, string::literal("the data ends early")); }
error is_wrong(const char* why) { return error(damaged, string::literal(why)); }

// The bytes of the data, one after the other. A byte behind the end is -1.
class reader {
public:
    explicit reader(const bytes& data) noexcept : at_(data.data()), end_(at_ + data.size()) {}

    int byte() noexcept { return at_ < end_ ? *at_++ : -1; }
    // Little-endian; -1 behind the end.
    int number() noexcept {
        int low = byte();
        int high = byte();
        return high < 0 ? -1 : low | high << 8;
    }
    // Null: there are not so many left.
    const u8* take(i64 size) noexcept {
        if (end_ - at_ < size) return nullptr;
        at_ += size;
        return at_ - size;
    }
    // Skips blocks of a size and data, up to the empty one. False: the data ends.
    bool skip_blocks() noexcept {
        for (int size = byte(); size != 0; size = byte())
            if (size < 0 || take(size) == nullptr) return false;
        return true;
    }

private:
    const u8* at_;
    const u8* end_;
};

// The codes of LZW, which lie in such blocks, the lowest bits first.
class code_reader {
public:
    explicit code_reader(reader& from) noexcept : from_(from) {}

    // The next code of so many bits; -1 if there is none.
    int next(int width) noexcept {
        while (have_ < width) {
            if (left_ == 0) left_ = from_.byte();
            int byte = left_ > 0 ? from_.byte() : -1;
            if (byte < 0) {
                left_ = -1;
                return -1;
            }
            left_--;
            bits_ |= static_cast<u32>(byte) << have_;
            have_ += 8;
        }
        int code = static_cast<int>(bits_ & ((1U << width) - 1));
        bits_ >>= width;
        have_ -= width;
        return code;
    }

private:
    reader& from_;
    u32 bits_ = 0;
    int have_ = 0; // bits
    int left_ = 0; // bytes of the block; below 0 at the end
};

// Where a picture lies on the screen, and its colours.
struct frame {
    int left = 0, top = 0, width = 0, height = 0;
    bool interlaced = false;
    int transparent = -1; // the colour that is none
    const u8* colours = nullptr;
    int count = 0;
};

// Puts the pixels of a frame on the screen, row by row, or in four passes if it is interlaced.
class painter {
public:
    painter(const frame& f, pixels& screen) noexcept : f_(f), screen_(screen) {}

    bool done() const noexcept { return y_ >= f_.height; }
    void put(int colour) noexcept {
        i64 x = f_.left + x_, y = f_.top + y_;
        if (x < screen_.width && y < screen_.height && colour != f_.transparent) {
            u8* to = screen_.row(y) + x * screen_.channels;
            const u8* from = colour < f_.count ? f_.colours + 3 * colour : nullptr; // null: black
            for (int c = 0; c < 3; c++) to[c] = from != nullptr ? from[c] : u8(0);
            if (screen_.channels == 4) to[3] = 255;
        }
        if (++x_ < f_.width) return;
        x_ = 0;
        step();
    }

private:
    void step() noexcept {
        static constexpr struct { int first, by; } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
        y_ += f_.interlaced ? passes[pass_].by : 1;
        while (f_.interlaced && y_ >= f_.height && pass_ < 3) y_ = passes[++pass_].first;
    }

    const frame& f_;
    pixels& screen_;
    int x_ = 0, y_ = 0, pass_ = 0;
};

// What the codes stand for: each one behind `end` is an earlier one and a colour.
class table {
public:
    explicit table(int bits) noexcept : clear(1 << bits), end(clear + 1), bits_(bits) { reset(); }

    void reset() noexcept {
        next_ = end + 1;
        width_ = bits_ + 1;
        previous_ = -1;
    }
    int width() const noexcept { return width_; }

    // Paints what a code stands for. False: it stands for nothing.
    bool paint(int code, painter& to) noexcept {
        bool fresh = code == next_ && next_ < most_codes; // the previous one, and its own first
        if (code == clear || code == end || code > next_ || (code == next_ && !fresh)) return false;
        if (previous_ < 0 && code >= clear) return false;
        int size = 0;
        if (fresh) colours_[size++] = static_cast<u8>(first_);
        for (int at = fresh ? previous_ : code;; at = prefix_[at]) {
            colours_[size++] = at < clear ? static_cast<u8>(at) : colour_[at];
            if (at < clear) break;
        }
        first_ = colours_[size - 1];
        if (previous_ >= 0 && next_ < most_codes) {
            prefix_[next_] = static_cast<u16>(previous_);
            colour_[next_] = static_cast<u8>(first_);
            next_++;
            if (next_ == 1 << width_ && width_ < 12) width_++;
        }
        previous_ = code;
        while (size > 0 && !to.done()) to.put(colours_[--size]);
        return true;
    }

    const int clear, end;

private:
    int bits_, next_ = 0, width_ = 0, previous_ = -1, first_ = 0;
    u16 prefix_[most_codes];
    u8 colour_[most_codes];
    u8 colours_[most_codes + 1]; // of one code, the last one first
};

// The pixels of a frame.
error paint(reader& from, const frame& f, pixels& screen) {
    int bits = from.byte();
    if (bits < 0) return ends_early();
    if (bits < 1 || bits > 8) return is_wrong("colours have 1 to 8 bits");
    code_reader codes(from);
    table known(bits);
    painter to(f, screen);
    while (!to.done()) {
        int code = codes.next(known.width());
        if (code < 0 || code == known.end) return ends_early();
        if (code == known.clear) known.reset();
        else if (!known.paint(code, to)) return is_wrong("a code stands for nothing");
    }
    return error();
}

// A frame begins behind the byte 2C. `f` has the colours of all frames.
result<pixels> decode_frame(reader& from, frame f, i64 width, i64 height, i64 most) {
    f.left = from.number();
    f.top = from.number();
    f.width = from.number();
    f.height = from.number();
    int flags = from.byte();
    if (flags < 0) return ends_early();
    if (f.width == 0 || f.height == 0) return is_wrong("the picture has no pixels");
    if (!within(f.width, f.height, most)) return too_many_pixels();
    f.interlaced = (flags & 0x40) != 0;
    if ((flags & 0x80) != 0) {
        f.count = 2 << (flags & 7);
        f.colours = from.take(3 * f.count);
        if (f.colours == nullptr) return ends_early();
    }
    if (f.colours == nullptr) return is_wrong("there are no colours");
    bool covers = f.left == 0 && f.top == 0 && f.width >= width && f.height >= height;
    pixels screen;
    screen.resize(width, height, covers && f.transparent < 0 ? 3 : 4);
    error why = paint(from, f, screen);
    if (why.code() != 0) return why;
    return screen;
}

} // namespace

result<pixels> decode_gif(const bytes& data, i64 most) {
    reader from(data);
    from.take(6); // GIF87a or GIF89a
    int width = from.number();
    int height = from.number();
    int flags = from.byte();
    if (from.take(2) == nullptr) return ends_early(); // background, proportions of a pixel
    if (width == 0 || height == 0) return is_wrong("the picture has no pixels");
    if (!within(width, height, most)) return too_many_pixels();
    frame f;
    if ((flags & 0x80) != 0) {
        f.count = 2 << (flags & 7);
        f.colours = from.take(3 * f.count);
        if (f.colours == nullptr) return ends_early();
    }
    for (;;) {
        int what = from.byte();
        if (what == 0x2c) return decode_frame(from, f, width, height, most);
        if (what == 0x3b) return is_wrong("there is no picture");
        if (what >= 0 && what != 0x21) return is_wrong("a block is unknown");
        int label = from.byte();
        if (label == 0xf9) { // the control of the next picture
            if (from.byte() != 4) return is_wrong("a block has a wrong size");
            const u8* control = from.take(4);
            if (control == nullptr) return ends_early();
            f.transparent = (control[0] & 1) != 0 ? control[3] : -1;
        }
        if (label < 0 || !from.skip_blocks()) return ends_early();
    }
}

} // namespace eve::util::image

#pragma once
// Module util.image: pictures in JPEG, PNG and GIF (std/util/image.eve). Threads of the pool do the
// work.
#include "async.hpp"
#include "image_pixels.hpp"
#include "object.hpp"
#include "vector.hpp"

namespace eve::util::image {

// A picture, which never changes. The zero value is one of no pixels, which nothing can be made of.
// Any thread, all methods.
class picture {
public:
    picture() noexcept = default;
    explicit picture(ref<pixels> of) noexcept : of_(move(of)) {}

    i64 width() const noexcept { return of_ ? of_->width : 0; }
    i64 height() const noexcept { return of_ ? of_->height : 0; }
    bool is_transparent() const noexcept { return of_ && of_->channels == 4; }
    async<result<picture>> resized(i64 width, i64 height) const;
    async<result<bytes>> jpeg(i64 quality) const;
    async<result<bytes>> png() const;

    u64 hash_value() const noexcept { return of_ ? of_.hash() : 0; }
    friend bool operator==(const picture& a, const picture& b) noexcept { return a.of_ == b.of_; }

private:
    ref<pixels> of_;
};

async<result<picture>> decode(bytes data, i64 most, i64 enough, bool turns);

} // namespace eve::util::image

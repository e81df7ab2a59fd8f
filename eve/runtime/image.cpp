#include "image.hpp"

#include "lock.hpp"
#include "pool.hpp"
#include "worker.hpp"

#include <errno.h>

namespace eve::util::image {

namespace {

// Work on a picture, on a thread of the pool. As many as there are workers are under way at a time.
class work : public blocking_call {
public:
    work() noexcept {}
    work(const work&) = delete;
    work& operator=(const work&) = delete;

    // Worker threads only. It runs when those before it leave it room.
    void queue() noexcept {
        next_call = nullptr;
        {
            locked l(guard);
            if (running >= worker_count()) {
                *last = this;
                last = &next_work_;
                return;
            }
            running++;
        }
        run_blocking(*this);
    }
    // Any thread.
    void give_up() noexcept { unwanted_.store(1, order::relaxed); }

protected:
    ~work() = default;
    // On a thread of the pool: does the work.
    virtual void make() = 0;
    // There. Hands the result over, if there is one; it may end itself.
    virtual void made() noexcept = 0;

private:
    void block() noexcept override {
        if (unwanted_.load(order::relaxed) == 0) make();
        work* next;
        {
            locked l(guard);
            next = first;
            if (next != nullptr) first = next->next_work_;
            else running--;
            if (first == nullptr) last = &first;
        }
        if (next != nullptr) run_blocking(*next);
        made();
    }

    static inline spin_lock guard;
    static inline int running = 0; // under the guard, as all below
    static inline work* first = nullptr;
    static inline work** last = &first;

    atomic<u32> unwanted_;
    work* next_work_ = nullptr;
    pool_room thread_; // files and names find a thread beside it
};

template <class T, class F> class work_for final : public operation_for<result<T>>, public work {
public:
    explicit work_for(F&& f) noexcept : f_(move(f)), value_(error(ECANCELED, string())) {}
    void begin() override { this->queue(); }
    void cancel() noexcept override { this->give_up(); }

private:
    void make() override { value_ = f_(); }
    void made() noexcept override {
        spawn([this](worker*, frame*) {
            this->done(move(value_));
            this->drop();
        });
    }
    void end() noexcept override { destroy(this); }

    F f_;
    result<T> value_;
};

// f touches only what it owns.
template <class T, class F> async<result<T>> on_a_thread(F f) {
    return async<result<T>>(create<work_for<T, F>>(move(f)));
}

result<picture> shared(result<pixels> p) {
    if (!p.ok()) return p.why();
    return picture(eve::make<pixels>(p.take()));
}

bool starts_with(const bytes& data, const char* magic, i64 size) noexcept {
    return data.size() >= size &&
           __builtin_memcmp(data.data(), magic, static_cast<usize>(size)) == 0;
}

error no_pixels() { return error(unsupported, string::literal("the picture has no pixels")); }

} // namespace

async<result<picture>> decode(bytes data, i64 most, i64 enough, bool turns) {
    return on_a_thread<picture>([data = move(data), most, enough, turns]() -> result<picture> {
        if (starts_with(data, "\xff\xd8\xff", 3))
            return shared(decode_jpeg(data, most, enough, turns));
        if (starts_with(data, "\x89PNG\r\n\x1a\n", 8)) return shared(decode_png(data, most));
        if (starts_with(data, "GIF87a", 6) || starts_with(data, "GIF89a", 6))
            return shared(decode_gif(data, most));
        return error(unsupported, string::literal("this is no JPEG, PNG or GIF"));
    });
}

async<result<picture>> picture::resized(i64 width, i64 height) const {
    return on_a_thread<picture>([of = of_, width, height]() -> result<picture> {
        if (!of) return no_pixels();
        if (width < 1 || height < 1 || width > longest_side || height > longest_side)
            return error(too_large, string::literal("a side has 1 to 65500 pixels"));
        return shared(resample(*of, width, height));
    });
}

async<result<bytes>> picture::jpeg(i64 quality) const {
    return on_a_thread<bytes>([of = of_, quality]() -> result<bytes> {
        if (!of) return no_pixels();
        if (of->channels == 4) return encode_jpeg(on_white(*of), quality);
        return encode_jpeg(*of, quality);
    });
}

async<result<bytes>> picture::png() const {
    return on_a_thread<bytes>([of = of_]() -> result<bytes> {
        if (!of) return no_pixels();
        return encode_png(*of);
    });
}

} // namespace eve::util::image

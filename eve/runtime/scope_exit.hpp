#pragma once
// Helpers of generated code: `defer`, and the range a..b as a value.
#include "failure.hpp"

namespace eve {

// Calls f at the end of its scope, after a failure too. If f fails while another failure is under
// way, the failure of f is dropped, since two exceptions at once end the process.
//
//   on_exit guard([&] { file->close(); });
template <class F> class on_exit {
public:
    explicit on_exit(F f) : f_(static_cast<F&&>(f)), failures_(failures_under_way()) {}
    on_exit(const on_exit&) = delete;
    on_exit& operator=(const on_exit&) = delete;
    ~on_exit() noexcept(false) {
        if (failures_under_way() == failures_) {
            f_();
            return;
        }
        try {
            f_();
        } catch (const failure&) {}
    }

private:
    F f_;
    int failures_; // under way at construction
};

// Eve's a..b, without b.
struct range {
    i64 low = 0, high = 0;

    struct place_in {
        i64 at;
        i64 operator*() const noexcept { return at; }
        void operator++() noexcept { ++at; }
        bool operator!=(const place_in& o) const noexcept { return at < o.at; }
    };
    place_in begin() const noexcept { return {low}; }
    place_in end() const noexcept { return {high}; }
    bool operator==(const range&) const = default;
};

} // namespace eve

#pragma once
// A line of things that wait, first come, first served. Each is linked by a field of its own, so
// that nothing is allocated. The user guards the line.
#include "base.hpp"

namespace eve {

template <class T> class waiting_line;

// What T derives from to stand in a line; in one at a time.
template <class T> class in_line {
    friend class waiting_line<T>;
    T* next_in_line_ = nullptr;
};

template <class T> class waiting_line {
public:
    waiting_line() noexcept {}
    waiting_line(const waiting_line&) = delete;
    waiting_line& operator=(const waiting_line&) = delete;

    void join(T& t) noexcept {
        next_of(t) = nullptr;
        *end_ = &t;
        end_ = &next_of(t);
    }
    // Takes the first one out. Null: nobody waits.
    T* pop() noexcept {
        T* t = first_;
        if (t == nullptr) return nullptr;
        first_ = next_of(*t);
        if (first_ == nullptr) end_ = &first_;
        return t;
    }
    // Takes one out, wherever it stands. False: it does not wait.
    bool remove(T& t) noexcept {
        for (T** at = &first_; *at != nullptr; at = &next_of(**at)) {
            if (*at != &t) continue;
            *at = next_of(t);
            if (*at == nullptr) end_ = at;
            return true;
        }
        return false;
    }
    // Takes all that wait in another line into this one, which is empty.
    void take(waiting_line& from) noexcept {
        if (from.first_ == nullptr) return;
        first_ = from.first_;
        end_ = from.end_;
        from.first_ = nullptr;
        from.end_ = &from.first_;
    }

private:
    static T*& next_of(T& t) noexcept { return static_cast<in_line<T>&>(t).next_in_line_; }

    T* first_ = nullptr;
    T** end_ = &first_;
};

} // namespace eve

#pragma once
// Shared objects of type T@. A box has a count of handles, a gate, and the value.
//
//   ref<counter> c = make<counter>(counter{});    // held by nobody
//   built<counter> b(counter{});                  // held by this body until b goes out of scope
#include "gate.hpp"
#include "memory.hpp"
#include "recording.hpp"

namespace eve {

struct header;
class failure;

// The description that all objects of one type share.
struct object_kind {
    void (*destroy)(header*) noexcept; // destroys the value and frees the memory
    // A contained task failed that held the object. Null: nothing to do. False: the program was
    // not told.
    bool (*failed)(header*, const failure&);
    const char* name; // for reports
};

struct header : gate {
    constexpr header(const object_kind* kind, u32 word) noexcept : gate(word), kind_(kind) {}
    atomic<u32> count_{1};
    const object_kind* kind_;

    // Any thread that has a handle.
    void keep() noexcept { count_.fetch_add(1, order::relaxed); }
    void drop() noexcept {
        if (count_.fetch_sub(1, order::acq_rel) == 1) dead();
    }
    // For a holder, once. Tasks that can run now become ready.
    void give_back(bool write) noexcept;

    // For the caller that found neither a handle nor a holder left. Objects that this frees in
    // turn are deferred, so that a long chain needs no deep stack.
    void end() noexcept;

private:
    void dead() noexcept;
};

template <class T> struct box : header {
    T value;

    explicit box(T&& v, u32 word) : header(&kind, word), value(move(v)) {}

    static void destroy(header* h) noexcept { eve::destroy(static_cast<box*>(h)); }
    static bool failed(header* h, const failure& f) {
        if constexpr (requires(T & v) { v.failed(f); })
            return static_cast<box*>(h)->value.failed(f);
        else return false;
    }
    static constexpr const char* name() { return __PRETTY_FUNCTION__; }
    static constexpr object_kind kind = {destroy, failed, name()};
};

// The object that contains a value. Only for values in a box.
template <class T> header* header_of(T& value) noexcept {
    constexpr usize behind = (sizeof(header) + alignof(T) - 1) / alignof(T) * alignof(T);
    return reinterpret_cast<header*>(reinterpret_cast<unsigned char*>(&value) - behind);
}

// A counted handle. Null only before it gets an object and after it was moved from. T may be
// incomplete if the value is not accessed.
template <class T> class ref {
    header* object_ = nullptr;

public:
    constexpr ref() noexcept {}
    // Takes over one count.
    constexpr explicit ref(header* object) noexcept : object_(object) {}
    ref(const ref& other) noexcept : object_(other.object_) {
        if (object_) object_->keep();
    }
    ref(ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    ref& operator=(const ref& other) noexcept {
        ref copy(other);
        return *this = static_cast<ref&&>(copy);
    }
    ref& operator=(ref&& other) noexcept {
        header* was = object_;
        object_ = other.object_;
        other.object_ = was;
        return *this;
    }
    ~ref() {
        if (object_) object_->drop();
    }

    // Under the permission on the object.
    T& operator*() const noexcept { return static_cast<box<T>*>(object_)->value; }
    T* operator->() const noexcept { return &static_cast<box<T>*>(object_)->value; }

    // Any thread.
    header* object() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    ref copy() const noexcept { return *this; }
    u64 hash() const noexcept {
        return (reinterpret_cast<u64>(object_) >> 4) * 0x9E3779B97F4A7C15ul;
    }
    friend bool same(const ref& a, const ref& b) noexcept { return a.object_ == b.object_; }
    friend bool operator==(const ref& a, const ref& b) noexcept { return a.object_ == b.object_; }
};

template <class T> ref<T> make(T value) { return ref<T>(create<box<T>>(move(value), 0u)); }

// A handle to the object that contains a value.
template <class T> ref<T> ref_of(T& value) noexcept {
    header* h = header_of(value);
    h->keep();
    return ref<T>(h);
}

// A local that builds an object and holds it to write. Tasks that want it wait until the local
// ends.
template <class T> class built {
    ref<T> handle_;

public:
    explicit built(T value) : handle_(create<box<T>>(move(value), gate::writer)) {
        if (unlikely(recording.on)) record_object(recorded::builds, handle_.object());
    }
    built(const built&) = delete;
    built& operator=(const built&) = delete;
    ~built() { handle_.object()->give_back(true); }

    T& operator*() const noexcept { return *handle_; }
    T* operator->() const noexcept { return handle_.operator->(); }
    const ref<T>& handle() const noexcept { return handle_; }
};

} // namespace eve

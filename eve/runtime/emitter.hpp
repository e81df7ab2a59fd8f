#pragma once
// Emitters: objects that emit events, and the handlers of these events.
//
//   on<data>(client, handler_9{clients}, hold::write, contained, read(clients));
//   emit<done>(*job, done{4});
//
// An event calls the handlers that are registered for its type, in the order of their
// registration, until one returns true. All of them run in one root. The root holds the emitter as
// the handlers ask, and every object in their lists. Events of one emitter are handled in the
// order of their emission. The next event begins when the one before has ended, unless no handler
// of that one changes the emitter. A handler is called for every event whose turn comes after its
// registration.
#include "lock.hpp"
#include "task.hpp"

namespace eve {

class emitter_base;
class failure;

// The permission that a handler has on its own emitter.
enum class hold : u8 { null, read, write };

// The address identifies the type of an event.
using event_key = const char*;
template <class Event> inline constexpr char event_place = 0;
template <class Event> constexpr event_key key_of() noexcept { return &event_place<Event>; }

struct handler_base;

// The description that all handlers of one registration in the program share.
struct handler_kind {
    event_key key;
    // returns true if the event is consumed
    bool (*call)(handler_base*, worker*, frame*, header* emitter, void* event);
    void (*end)(handler_base*) noexcept;
};

struct handler_base {
    const handler_kind* kind;
    handler_base* next = nullptr; // under the emitter's guard
    u8 count;                     // number of grants, which follow in memory
    hold mode;
    bool contained;
    atomic<u8> dropped; // set by off, perhaps while the handler runs

    handler_base(const handler_kind* k, hold held, bool kept, int n) noexcept
        : kind(k), count(static_cast<u8>(n)), mode(held), contained(kept) {}
    event_key key() const noexcept { return kind->key; }
    const grant* grants() const noexcept { return reinterpret_cast<const grant*>(this + 1); }
};

// A handler and its grants: ten thousand connections have ten thousand handlers, mostly with none.
template <int N> struct granted_handler : handler_base {
    grant grants_[N];

    granted_handler(const handler_kind* k, hold held, bool kept, const grant* list, int n)
        : handler_base(k, held, kept, n) {
        for (int i = 0; i < n; i++) {
            grants_[i] = list[i];
            object(i)->keep();
        }
    }
    ~granted_handler() {
        for (int i = 0; i < count; i++) object(i)->drop();
    }
    header* object(int i) const noexcept {
        return static_cast<header*>(const_cast<void*>(grants_[i].object));
    }
};
template <> struct granted_handler<0> : handler_base {
    granted_handler(const handler_kind* k, hold held, bool kept, const grant*, int) noexcept
        : handler_base(k, held, kept, 0) {}
};

template <class E, class Event, class F, int N> struct handler_of : granted_handler<N> {
    F body_;

    handler_of(F&& body, hold held, bool kept, const grant* list, int n)
        : granted_handler<N>(&kind_of, held, kept, list, n), body_(move(body)) {
        static_assert(sizeof(handler_base) % alignof(grant) == 0);
    }
    static bool run(handler_base* h, worker* w, frame* top, header* emitter, void* event) {
        if (unlikely(recording.on)) record(w, recorded::body, 0, 0, &code_of<F>);
        emitter->keep();
        ref<E> handle(emitter);
        F& body = static_cast<handler_of*>(h)->body_;
        if constexpr (__is_same(decltype(body(w, top, handle, *static_cast<Event*>(event))),
                                bool)) {
            return body(w, top, handle, *static_cast<Event*>(event));
        } else {
            body(w, top, handle, *static_cast<Event*>(event));
            return false;
        }
    }
    static void finish(handler_base* h) noexcept { destroy(static_cast<handler_of*>(h)); }
    static constexpr handler_kind kind_of = {key_of<Event>(), run, finish};
};

// An event that waits for its turn.
struct emission {
    emission* next = nullptr;
    event_key key;
    void* event;
    void (*end)(emission*) noexcept;
};

template <class Event> struct emission_of : emission {
    Event value;

    explicit emission_of(Event&& x)
        : emission{nullptr, key_of<Event>(), &value, finish}, value(move(x)) {}
    static void finish(emission* e) noexcept { destroy(static_cast<emission_of*>(e)); }
    static emission* keep(void* event) {
        return create<emission_of>(move(*static_cast<Event*>(event)));
    }
};

// Hooks of the library's own emitters. All may be null. They are called without the guard.
struct emitter_hooks {
    // handlers were registered or dropped. Any thread
    void (*changed)(emitter_base&);
    bool (*unhandled)(emitter_base&, event_key, void* event); // the event has no handler
    void (*ended)(emitter_base&, event_key,
                  void* event); // the handlers have run; their permissions are still held
    bool (*failed)(emitter_base&,
                   const failure&); // a contained handler failed; its permissions are still held
    void (*gone)(emitter_base&);    // the last event has been handled
    // the turn of an event has come, and it is void: its handlers are not called
    bool (*is_void)(emitter_base&, event_key, const void* event) = nullptr;
};

class emitter_base {
public:
    emitter_base() noexcept {}
    explicit emitter_base(const emitter_hooks* hooks) noexcept : hooks_(hooks) {}
    // Moved only before it is shared, so there is no state to move.
    emitter_base(emitter_base&& other) noexcept : hooks_(other.hooks_) {}
    emitter_base& operator=(emitter_base&&) noexcept { return *this; }
    ~emitter_base();

    // Under full permission. Drops the handlers registered so far.
    void off() noexcept;
    // Called by the runtime when a contained task failed that held the emitter to write. Returns
    // whether a handler of `error` will be called.
    bool failed(const failure& f);

    // Any thread. Whether there is a handler for the event.
    bool handles(event_key key) noexcept;
    // Any thread. Takes ownership of the handler.
    void add(header* self, handler_base* h) noexcept;
    // Only where a poller handles events. The handlers run at once if all their objects are free.
    // False: they run later, as a root of their own, and `keep` has moved the event.
    bool fire(header* self, event_key key, void* event, emission* (*keep)(void*)) noexcept;
    // Any thread. The handlers run later. False: the event was dropped, since it came after the
    // last event.
    bool post(header* self, emission* e) noexcept;
    // Any thread. Posts the last event. Later events are dropped, and after it all handlers. A
    // handler that is registered for it afterwards is still called.
    bool post_last(header* self, emission* e) noexcept;

private:
    struct plan;
    struct turn;
    friend struct turn;

    bool consider(event_key key, plan& p) noexcept;
    void count_in(const plan& p) noexcept;
    void begin(header* self, emission* e, plan& p) noexcept;
    void begin_next(header* self) noexcept;
    void over(const turn& t) noexcept;
    void retire(const turn& t) noexcept;
    void push(emission* e) noexcept;
    handler_base* sweep() noexcept;

    const emitter_hooks* hooks_ = nullptr;
    handler_base* first_ = nullptr;
    emission* waiting_ = nullptr; // the newest one of a circular list
    emission* last_ = nullptr;    // the last event, once it has been posted
    u32 active_ = 0;              // events being handled
    spin_lock guard_;             // guards all fields but hooks_
    // the event being handled may change the emitter, so the next one waits
    bool exclusive_ = false;
    bool over_ = false; // the last event has been handled
    bool swept_ = true; // the list has no dropped handler
};

template <class Event, class E, class F, class... Grants>
void on(const ref<E>& emitter, F&& handler, hold mode, bool contained, Grants... grants) {
    constexpr int n = sizeof...(Grants);
    grant list[n > 0 ? n : 1] = {grants...};
    header* self = emitter.object();
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (list[i].object == self) {
            if (list[i].write) mode = hold::write;
            else if (mode == hold::null) mode = hold::read;
        } else {
            list[kept++] = list[i];
        }
    }
    using made = handler_of<E, Event, bare<F>, n>;
    emitter_base& e = *emitter;
    e.add(self, create<made>(bare<F>(forward<F>(handler)), mode, contained, list, kept));
}

// Any thread. The handlers run later as roots, never inside the caller.
template <class Event, class E> void emit(E& self, Event event) {
    static_cast<emitter_base&>(self).post(header_of(self), create<emission_of<Event>>(move(event)));
}

} // namespace eve

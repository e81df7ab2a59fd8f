#include "emitter.hpp"

#include "failure.hpp"

namespace eve {

// The handlers that an event is for, and all that they need together.
struct emitter_base::plan {
    handler_base* from = nullptr;
    handler_base* to = nullptr;
    int grants = 0; // number of grants on other objects than the emitter
    hold mode = hold::null;
    bool contained = true;
    bool last = false;
    bool kept = false; // the emission belongs to the emitter, which may need it again
};

// The handling of one event.
struct emitter_base::turn {
    emitter_base* emitter;
    header* self;
    event_key key;
    void* event;
    handler_base* from;
    handler_base* to;
    bool exclusive;

    void operator()(worker* w, frame* top) {
        struct ending {
            turn& t;
            ~ending() { t.emitter->over(t); }
        } at_end{*this};
        const emitter_hooks* hooks = emitter->hooks_;
        if (hooks != nullptr && hooks->is_void != nullptr && hooks->is_void(*emitter, key, event))
            return;
        for (handler_base* h = from; h != nullptr; h = h == to ? nullptr : h->next) {
            if (h->key() == key && h->dropped.load(order::acquire) == 0 &&
                h->kind->call(h, w, top, self, event))
                break;
        }
    }
};

namespace {

// Enough for one or two handlers with short lists. Longer lists take the queued path.
constexpr int few_grants = 16;

int list_grants(grant* out, header* self, hold mode, event_key key, const handler_base* from,
                const handler_base* to) {
    int n = 0;
    if (mode != hold::null) out[n++] = {self, mode == hold::write};
    for (const handler_base* h = from; h != nullptr; h = h == to ? nullptr : h->next) {
        for (int i = 0; h->key() == key && i < h->count; i++) out[n++] = h->grants()[i];
    }
    return n;
}

// A turn that is a root of its own. Its slots follow it in memory.
template <class Turn> struct queued_turn : task {
    Turn what;
    emission* owned;
    int places;

    static usize bytes(int n) { return sizeof(queued_turn) + static_cast<usize>(n) * sizeof(slot); }
    static void run(task* t, worker* w, frame* top) { static_cast<queued_turn*>(t)->what(w, top); }
    static void end(task* t) noexcept {
        auto* q = static_cast<queued_turn*>(t);
        header* self = q->what.self;
        usize size = bytes(q->places);
        if (q->owned != nullptr) q->owned->end(q->owned);
        q->~queued_turn();
        release(q, size);
        self->drop();
    }
    static constexpr task_kind kind_of = {run, end, {"handler"}};

    // Enqueues the turn. `list` has n grants.
    static void start(const Turn& what, emission* owned, bool contained, const grant* list, int n) {
        what.self->keep();
        auto* q = new (place{allocate(bytes(n))}) queued_turn{{&kind_of}, what, owned, n};
        q->contained = contained;
        auto* slots = reinterpret_cast<slot*>(q + 1);
        for (int i = 0; i < n; i++) new (place{slots + i}) slot;
        fill(q, slots, list, n);
        enqueue(q);
    }
};

} // namespace

emitter_base::~emitter_base() {
    while (handler_base* h = first_) {
        first_ = h->next;
        h->kind->end(h);
    }
    if (last_ != nullptr) last_->end(last_);
}

bool emitter_base::handles(event_key key) noexcept {
    locked l(guard_);
    for (handler_base* h = first_; h != nullptr; h = h->next) {
        if (h->key() == key && h->dropped.load(order::relaxed) == 0) return true;
    }
    return false;
}

// Removes the dropped handlers from the list. Under the guard, while no event is being handled.
handler_base* emitter_base::sweep() noexcept {
    handler_base* dead = nullptr;
    handler_base** at = &first_;
    while (handler_base* h = *at) {
        if (h->dropped.load(order::relaxed) != 0) {
            *at = h->next;
            h->next = dead;
            dead = h;
        } else {
            at = &h->next;
        }
    }
    swept_ = true;
    return dead;
}

namespace {

void end_all(handler_base* dead) noexcept {
    while (handler_base* h = dead) {
        dead = h->next;
        h->kind->end(h);
    }
}

} // namespace

void emitter_base::off() noexcept {
    handler_base* dead = nullptr;
    {
        locked l(guard_);
        for (handler_base* h = first_; h != nullptr; h = h->next)
            h->dropped.store(1, order::release);
        swept_ = false;
        if (active_ == 0) dead = sweep();
    }
    end_all(dead);
    if (hooks_ != nullptr && hooks_->changed != nullptr) hooks_->changed(*this);
}

bool emitter_base::consider(event_key key, plan& p) noexcept {
    p.last = last_ != nullptr && key == last_->key;
    if (p.last) p.mode = hold::write;
    for (handler_base* h = first_; h != nullptr; h = h->next) {
        if (h->key() != key || h->dropped.load(order::relaxed) != 0) continue;
        if (p.from == nullptr) p.from = h;
        p.to = h;
        p.grants += h->count;
        p.contained = p.contained && h->contained;
        if (h->mode > p.mode) p.mode = h->mode;
    }
    return p.from != nullptr || p.last;
}

void emitter_base::count_in(const plan& p) noexcept {
    active_++;
    if (p.mode == hold::write) exclusive_ = true;
}

void emitter_base::push(emission* e) noexcept {
    e->next = waiting_ != nullptr ? waiting_->next : e;
    if (waiting_ != nullptr) waiting_->next = e;
    waiting_ = e;
}

// Enqueues the event as a root. The event has been counted in active_.
void emitter_base::begin(header* self, emission* e, plan& p) noexcept {
    turn t{this, self, e->key, e->event, p.from, p.to, p.mode == hold::write};
    grant few[few_grants + 1];
    usize room = static_cast<usize>(p.grants + 1) * sizeof(grant);
    grant* list = p.grants <= few_grants ? few : static_cast<grant*>(allocate(room));
    int n = list_grants(list, self, p.mode, e->key, p.from, p.to);
    queued_turn<turn>::start(t, p.kept ? nullptr : e, p.contained, list, n);
    if (list != few) release(list, room);
}

void emitter_base::begin_next(header* self) noexcept {
    for (;;) {
        plan p;
        emission* e;
        bool any;
        {
            locked l(guard_);
            if (waiting_ == nullptr || exclusive_) return;
            e = waiting_->next;
            any = consider(e->key, p);
            p.kept = e == last_;
            if (p.last && active_ > 0) return;
            if (e == waiting_) waiting_ = nullptr;
            else waiting_->next = e->next;
            if (any) count_in(p);
        }
        if (any) {
            begin(self, e, p);
            continue;
        }
        if (hooks_ != nullptr && hooks_->unhandled != nullptr)
            hooks_->unhandled(*this, e->key, e->event);
        e->end(e);
    }
}

bool emitter_base::fire(header* self, event_key key, void* event,
                        emission* (*keep)(void*)) noexcept {
    plan p;
    bool any;
    {
        locked l(guard_);
        if (last_ != nullptr) return true;
        if (waiting_ != nullptr || exclusive_) {
            push(keep(event));
            return false;
        }
        any = consider(key, p);
        if (any) count_in(p);
    }
    if (!any) {
        if (hooks_ != nullptr && hooks_->unhandled != nullptr) hooks_->unhandled(*this, key, event);
        return true;
    }
    if (p.grants <= few_grants) {
        turn t{this, self, key, event, p.from, p.to, p.mode == hold::write};
        grant list[few_grants + 1];
        int n = list_grants(list, self, p.mode, key, p.from, p.to);
        void (*body)(void*, worker*, frame*) = [](void* what, worker* w, frame* top) {
            (*static_cast<turn*>(what))(w, top);
        };
        if (run_now(body, static_cast<void*>(&t), p.contained, list, n)) return true;
    }
    begin(self, keep(event), p);
    return false;
}

bool emitter_base::post(header* self, emission* e) noexcept {
    {
        locked l(guard_);
        if (last_ == nullptr) {
            push(e);
            e = nullptr;
        }
    }
    if (e != nullptr) {
        e->end(e);
        return false;
    }
    begin_next(self);
    return true;
}

bool emitter_base::post_last(header* self, emission* e) noexcept {
    {
        locked l(guard_);
        if (last_ == nullptr) {
            last_ = e;
            push(e);
            e = nullptr;
        }
    }
    if (e != nullptr) {
        e->end(e);
        return false;
    }
    begin_next(self);
    return true;
}

// The last event has been handled, so no other one can come. Only handlers of it that were
// registered meanwhile stay, and get a turn of their own. Under the guard.
void emitter_base::retire(const turn& t) noexcept {
    over_ = true;
    bool late = t.to == nullptr;
    bool again = false;
    for (handler_base* h = first_; h != nullptr; h = h->next) {
        if (late && h->key() == t.key) again = true;
        else h->dropped.store(1, order::release);
        late = late || h == t.to;
    }
    swept_ = false;
    if (again && waiting_ == nullptr) push(last_);
}

void emitter_base::over(const turn& t) noexcept {
    if (hooks_ != nullptr && hooks_->ended != nullptr) hooks_->ended(*this, t.key, t.event);
    handler_base* dead = nullptr;
    bool gone = false;
    {
        locked l(guard_);
        active_--;
        if (t.exclusive) exclusive_ = false;
        if (last_ != nullptr && t.event == last_->event) {
            gone = !over_;
            retire(t);
        }
        if (active_ == 0 && !swept_) dead = sweep();
    }
    end_all(dead);
    if (gone && hooks_ != nullptr && hooks_->gone != nullptr) hooks_->gone(*this);
    begin_next(t.self);
}

void emitter_base::add(header* self, handler_base* h) noexcept {
    bool late = false;
    {
        locked l(guard_);
        handler_base** end = &first_;
        while (*end != nullptr) end = &(*end)->next;
        if (!over_ || h->key() == last_->key) {
            *end = h;
            h = nullptr;
        }
        late = over_ && h == nullptr && !exclusive_ && waiting_ == nullptr;
        if (late) push(last_);
    }
    if (h != nullptr) h->kind->end(h);
    else if (late) begin_next(self);
    if (hooks_ != nullptr && hooks_->changed != nullptr) hooks_->changed(*this);
}

bool emitter_base::failed(const failure& f) {
    if (hooks_ != nullptr && hooks_->failed != nullptr) return hooks_->failed(*this, f);
    bool heard = handles(key_of<error>());
    header* self = header_of(*this);
    return post_last(self, create<emission_of<error>>(f.as_error())) && heard;
}

} // namespace eve

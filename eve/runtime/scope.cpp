#include "scope.hpp"
#include "scheduler.hpp"
#include <exception>

namespace eve {

// The queue of one object in a scope.
struct scope::entry {
    gate queue; // first: a gate of a scope is also its entry
    const void* object;
    entry* next; // in the same bucket
};

namespace {

constexpr int most_tokens = 64; // of the owner; each token runs children until none is ready

u32 bucket_of(const void* object, u32 buckets) {
    return u32((reinterpret_cast<u64>(object) * 0x9E3779B97F4A7C15ul) >> 32) & (buckets - 1);
}

} // namespace

scope::scope(worker* w, frame* top) noexcept
    : w_(w), from_(top), top_(top), outer_(w->within), table_(first_) {}

scope::~scope() {
    if (!joined_) {
        failed_.store(1, order::relaxed);
        finish();
    }
    if (failure_) static_cast<std::exception_ptr*>(static_cast<void*>(&failure_))->~exception_ptr();
    for (u32 i = 0; i < buckets_; i++)
        while (entry* e = table_[i]) {
            table_[i] = e->next;
            destroy(e);
        }
    if (table_ != first_) release(table_, buckets_ * sizeof(entry*));
}

const void* scope::object_of(const gate* of) noexcept {
    return reinterpret_cast<const entry*>(of)->object;
}

bool scope::failed() const noexcept {
    for (const scope* s = this; s; s = s->outer_)
        if (s->failed_.load(order::relaxed)) return true;
    return false;
}

// Under the lock.
void scope::grow() {
    u32 n = buckets_ * 4;
    auto** table = static_cast<entry**>(allocate(n * sizeof(entry*)));
    for (u32 i = 0; i < n; i++) table[i] = nullptr;
    for (u32 i = 0; i < buckets_; i++)
        while (entry* e = table_[i]) {
            table_[i] = e->next;
            entry*& head = table[bucket_of(e->object, n)];
            e->next = head;
            head = e;
        }
    if (table_ != first_) release(table_, buckets_ * sizeof(entry*));
    table_ = table;
    buckets_ = n;
}

gate* scope::gate_of(const void* object) {
    locked guard(lock_);
    for (entry* e = table_[bucket_of(object, buckets_)]; e; e = e->next)
        if (e->object == object) return &e->queue;
    if (entries_ == buckets_ * 2) grow();
    entry*& head = table_[bucket_of(object, buckets_)];
    head = new (place{allocate(sizeof(entry))}) entry{gate(), object, head};
    entries_++;
    return &head->queue;
}

void scope::add(task* t, slot* slots, grant* grants, int n) {
    t->home = this;
    for (int i = 0; i < n; i++) grants[i].object = gate_of(grants[i].object);
    fill(t, slots, grants, n);
    bool by_owner = self() == w_ && !joined_ && w_->within == outer_;
    enqueue(t);
    if (by_owner && waiting_.load(order::relaxed) != 0 && top_ - from_ < most_tokens &&
        room(w_, top_)) {
        top_->emplace<scope*>(this);
        push(w_, top_++, token);
    }
}

void scope::ready(task* t) noexcept {
    locked guard(lock_);
    *tail_ = t;
    tail_ = &t->next;
    waiting_.store(waiting_.load(order::relaxed) + 1, order::relaxed);
}

task* scope::next_ready() noexcept {
    if (waiting_.load(order::relaxed) == 0) return nullptr;
    locked guard(lock_);
    task* t = head_;
    if (!t) return nullptr;
    head_ = t->next;
    if (!head_) tail_ = &head_;
    t->next = nullptr;
    waiting_.store(waiting_.load(order::relaxed) - 1, order::relaxed);
    return t;
}

void scope::keep_failure() noexcept {
    locked guard(lock_);
    if (!failure_) new (place{&failure_}) std::exception_ptr(std::current_exception());
    failed_.store(1, order::relaxed);
}

void scope::run(task* t, worker* w, frame* top) noexcept {
    if (!failed_.load(order::relaxed)) {
        scope* within = w->within;
        frame* floor = w->floor;
        w->within = this;
        w->floor = top;
        if (unlikely(recording.on)) record_begins(w, t);
        try {
            t->kind->run(t, w, top);
        } catch (...) {
            keep_failure();
        }
        w->within = within;
        w->floor = floor;
    }
    if (unlikely(recording.on)) record_ends(w, t);
    give_back_all(t); // waiting children become ready before this one ends: none is lost
    t->kind->end(t);
}

// Runs children until none is ready. A child becomes ready either by the owner between two spawns,
// or by a child that ends. The latter runs in this loop, which looks again. So when all tokens are
// joined, all children have run.
void scope::drain(worker* w, frame* top) {
    joiner tokens(w, top);
    while (task* t = next_ready()) {
        bool more = waiting_.load(order::relaxed) != 0;
        if (more && w->mark.load(order::relaxed) == steal_requested && room(w, tokens.top)) {
            tokens.top->emplace<scope*>(this);
            push(w, tokens.top++, token);
        }
        run(t, w, tokens.top);
    }
    tokens.join();
}

void scope::token(worker* w, frame* top, frame* me) { me->as<scope*>()->drain(w, top); }

void scope::finish() noexcept {
    joined_ = true;
    drain(w_, top_);
    join_all(w_, from_, top_);
    top_ = from_;
}

void scope::join() {
    finish();
    if (!failure_) return;
    auto& kept = *static_cast<std::exception_ptr*>(static_cast<void*>(&failure_));
    std::exception_ptr failure = static_cast<std::exception_ptr&&>(kept);
    std::rethrow_exception(failure);
}

} // namespace eve

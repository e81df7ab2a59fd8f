#include "object.hpp"
#include "task.hpp"

namespace eve {

// Objects whose end was deferred on this thread, linked through the empty queue of each.
static constinit thread_local header* put_off = nullptr;
static constinit thread_local bool ending = false;

void header::dead() noexcept {
    if (orphaned()) end();
}

void header::end() noexcept {
    if (unlikely(recording.on)) record_object(recorded::gone, this);
    last_ = reinterpret_cast<slot*>(put_off);
    put_off = this;
    if (ending) return;
    ending = true;
    while (header* h = put_off) {
        put_off = reinterpret_cast<header*>(h->last_);
        h->kind_->destroy(h);
    }
    ending = false;
}

void header::give_back(bool write) noexcept {
    if (unlikely(recording.on)) record_object(recorded::gives, this);
    bool died = false;
    hand_over(gate::give_back(write, &died));
    if (died) end();
}

} // namespace eve

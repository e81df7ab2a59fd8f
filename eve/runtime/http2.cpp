#include "http2.hpp"

#include "http2_connection.hpp"

namespace eve::io::http2 {

session::session(i64 streams, i64 most_fields, i64 most_bytes)
    : what_(new connection(streams, most_fields, most_bytes)) {}

session::~session() { delete what_; }

session new_session(i64 streams, i64 most_fields, i64 most_bytes) {
    return session(streams, most_fields, most_bytes);
}

void session::receive(const bytes& input, duration now) { what_->receive(input, now); }
i64 session::next() { return static_cast<i64>(what_->next()); }
i64 session::stream() const noexcept { return what_->current(); }
i64 session::queued() const noexcept { return what_->queued(); }
i64 session::heading() const noexcept { return what_->heading(); }
bytes session::output() { return what_->output(); }
void session::leave(bool now) { what_->leave(now); }
bool session::over() const noexcept { return what_->over(); }

fields session::head(i64 id) {
    auto* s = what_->find(id);
    return s == nullptr ? fields() : move(s->head);
}

bytes session::take(i64 id) {
    auto* s = what_->find(id);
    return s == nullptr ? bytes() : what_->take(*s);
}

bool session::whole(i64 id) const noexcept {
    auto* s = what_->find(id);
    return s != nullptr && s->whole && s->in.empty();
}

void session::proceed(i64 id) {
    if (auto* s = what_->find(id)) what_->proceed(*s);
}

void session::reply(i64 id, i64 status, const fields& head, bool last) {
    if (auto* s = what_->find(id)) what_->submit(*s, status, head, last);
}

void session::write(i64 id, const string& part) {
    if (auto* s = what_->find(id)) what_->append(*s, part.data(), part.size());
}

void session::write_buffer(i64 id, const bytes& part) {
    if (auto* s = what_->find(id)) what_->append(*s, part.data(), part.size());
}

void session::end(i64 id) {
    if (auto* s = what_->find(id)) what_->end(*s);
}

void session::reset(i64 id) {
    if (auto* s = what_->find(id)) what_->reset(*s);
}

i64 session::pending(i64 id) const noexcept {
    auto* s = what_->find(id);
    return s == nullptr ? 0 : s->out.size();
}

} // namespace eve::io::http2

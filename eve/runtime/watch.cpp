#include "watch.hpp"

#include "c_path.hpp"
#include "slow.hpp"
#include "worker.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace eve::fs {

using found = result<notices::list>;

namespace {

// The kernel's queue has 16,384 notices of up to 272 bytes, unless fs.inotify.max_queued_events
// says otherwise: all of it comes at once.
constexpr i64 most_bytes = 8 << 20;
constexpr int first_own = 3; // behind the standard descriptors

error watch_error(const string& path, int code) {
    const char* why = code == ENOSPC   ? "no watch is left (fs.inotify.max_user_watches)"
                      : code == EMFILE ? "no queue is left (fs.inotify.max_user_instances)"
                                       : nullptr;
    if (why == nullptr) return file_error("watch", path, code);
    error cause(code, string::literal(why));
    return error(code, string::literal("watch ") + path + string::literal(": ") + cause.text(),
                 cause);
}

} // namespace

// A wait for notices. It is a channel of the loop that began it, with a descriptor of its own. It
// reads only when its caller is sure to get what it reads: nothing is lost when the time is over.
class notices_wait final : public operation_for<found>, public channel {
public:
    explicit notices_wait(notices& of) noexcept : channel(kind::other), of_(ref_of(of)) {}

    void begin() override {
        home = &this_loop();
        visit me(*home);
        int why = of_->join(*this);
        if (why == 0) {
            {
                locked l(guard);
                waiting_ = true;
            }
            ready(*home, io_in);
        } else {
            finish(*home, why);
        }
    }
    void cancel() noexcept override {
        if (!waiting_) return;
        quiet();
        of_->part(*this);
        release(*home);
    }
    void end() noexcept override { destroy(this); }

    u8 wanted() const noexcept override { return waiting_ ? io_in : 0; }
    void ready(loop& on, u8) override {
        if (!waiting_ || !of_->has(*this)) return; // mail is on its way, if it was ended
        int size = 0;
        if (ioctl(fd, FIONREAD, &size) != 0 || size > 0) {
            finish(on, 0);
            return;
        }
        locked l(guard);
        on.update(*this);
    }
    void mailed(loop& on, u32 what) override {
        if (what & mail_clock) {
            if (waiting_) finish(on, code);
            drop(); // the count of the mail
            what &= ~static_cast<u32>(mail_clock);
        }
        if (what & mail_retire) release(on); // the ring has let the descriptor go
    }

    int code = 0; // why it ends. Of the one that sends mail_clock

private:
    void quiet() noexcept {
        locked l(guard);
        waiting_ = false;
    }
    // Inside. Answers with what is there, or with an error.
    void finish(loop& on, int why) {
        quiet();
        of_->part(*this);
        if (try_complete()) {
            if (limit_ != nullptr) cancel_deadline(limit_);
            deliver_(this, why == 0 ? found(read_all()) : found(watch_error(of_->path_, why)));
        }
        release(on);
    }
    void release(loop& on) noexcept {
        if (fd >= 0 && !on.forget(*this)) return; // mail_retire comes
        if (fd >= 0) ::close(fd);
        fd = -1;
        disarm();
        drop();
    }
    notices::list read_all();

    ref<notices> of_;
    bool waiting_ = false; // under the guard of the channel
};

notices::list notices_wait::read_all() {
    notices::list all;
    u8* block = this_loop().scratch();
    for (i64 total = 0; total < most_bytes;) {
        i64 n = ::read(fd, block, loop::scratch_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        total += n;
        for (i64 at = 0; at < n;) {
            inotify_event e;
            memcpy(&e, block + at, sizeof e);
            at += static_cast<i64>(sizeof e);
            auto* name = reinterpret_cast<const char*>(block + at);
            all.push(
                tuple<i64, i64, i64, string>(i64(e.wd), i64(e.mask), i64(e.cookie),
                                             string(name, static_cast<i64>(strnlen(name, e.len)))));
            at += e.len;
        }
    }
    return all;
}

notices::notices(string path) noexcept
    : stoppable(kind::other), path_(move(path)), queue_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    code_ = queue_ < 0 ? errno : EBADF;
}

// Moved only before it is shared.
notices::notices(notices&& fresh) noexcept
    : stoppable(kind::other), path_(move(fresh.path_)), queue_(fresh.queue_), code_(fresh.code_) {
    fresh.queue_ = -1;
}

notices::~notices() {
    if (queue_ >= 0) ::close(queue_);
}

ref<notices> notices::begin(const string& path) {
    refuse_in_fake_time("a watch of files");
    return make<notices>(notices(path));
}

// The call has a descriptor of its own, which close() does not take away.
async<result<i64>> notices::add(const string& path, i64 mask) {
    int own, code;
    {
        locked l(guard_);
        own = queue_ < 0 ? -1 : fcntl(queue_, F_DUPFD_CLOEXEC, first_own);
        code = queue_ < 0 ? code_ : own < 0 ? errno : 0;
    }
    return slow<result<i64>>([path, mask, own, code]() -> result<i64> {
        if (code != 0) return watch_error(path, code);
        c_path name(path);
        int watch = name.valid() ? inotify_add_watch(own, name.text(), static_cast<u32>(mask)) : -1;
        int why = watch >= 0 ? 0 : name.valid() ? errno : EINVAL;
        ::close(own);
        if (why != 0) return watch_error(path, why);
        return i64(watch);
    });
}

void notices::remove(i64 watch) noexcept {
    locked l(guard_);
    if (queue_ >= 0) inotify_rm_watch(queue_, static_cast<int>(watch));
}

async<found> notices::next() { return async<found>(eve::create<notices_wait>(*this)); }

int notices::join(notices_wait& w) noexcept {
    locked l(guard_);
    if (queue_ < 0) return code_;
    if (waiting_ != nullptr) return EBUSY;
    w.fd = fcntl(queue_, F_DUPFD_CLOEXEC, first_own);
    if (w.fd < 0) return errno;
    enter();
    if (ending()) {
        leave();
        return ESHUTDOWN;
    }
    w.keep();
    waiting_ = &w;
    return 0;
}

notices_wait* notices::take_wait() noexcept {
    notices_wait* w = waiting_;
    waiting_ = nullptr;
    if (w != nullptr) leave();
    return w;
}

void notices::part(notices_wait& w) noexcept {
    {
        locked l(guard_);
        if (waiting_ != &w) return;
        take_wait();
    }
    w.drop();
}

bool notices::has(const notices_wait& w) noexcept {
    locked l(guard_);
    return waiting_ == &w;
}

void notices::end_wait(int code) noexcept {
    notices_wait* w;
    {
        locked l(guard_);
        w = take_wait();
    }
    if (w == nullptr) return;
    w->code = code;
    w->home->mail(*w, mail_clock); // its count goes with the mail
}

void notices::stop() noexcept { end_wait(ECANCELED); }

void notices::shut() noexcept { end_wait(ESHUTDOWN); }

void notices::close() noexcept {
    end_wait(EBADF);
    locked l(guard_);
    code_ = EBADF;
    if (queue_ >= 0) ::close(queue_);
    queue_ = -1;
}

} // namespace eve::fs

#pragma once
// The kernel's queue of what happens in folders (inotify(7)): type notices of std/fs.eve, which
// makes fs.watch of it.
#include "async.hpp"
#include "file.hpp"
#include "loop.hpp"
#include "tuple.hpp"

namespace eve::fs {

class notices_wait;

// While a wait is under way, it is in the list of what process.shutdown ends.
class notices final : public stoppable {
public:
    // The number of a watch, the mask, the cookie and the name of each notice.
    using list = vector<tuple<i64, i64, i64, string>>;

    // The path is for errors.
    static ref<notices> begin(const string& path);
    notices(notices&& fresh) noexcept;
    notices& operator=(notices&&) = delete;
    ~notices();

    // Any thread, all methods.
    async<result<i64>> add(const string& path, i64 mask);
    void remove(i64 watch) noexcept;
    async<result<list>> next();
    void stop() noexcept;
    void close() noexcept;

    u8 wanted() const noexcept override { return 0; }
    void ready(loop&, u8) override {}
    void shut() noexcept override;
    header* shared() noexcept override { return header_of(*this); }

private:
    friend class notices_wait;
    explicit notices(string path) noexcept;
    // The wait is under way from now on, with a descriptor of its own. Returns 0 or an errno.
    int join(notices_wait& w) noexcept;
    // The wait is over, unless end_wait has ended it.
    void part(notices_wait& w) noexcept;
    bool has(const notices_wait& w) noexcept;
    void end_wait(int code) noexcept;
    // Under the guard. The caller takes over its count.
    notices_wait* take_wait() noexcept;

    string path_;
    spin_lock guard_;
    notices_wait* waiting_ = nullptr; // under the guard, as are those below
    int queue_;
    int code_ = 0; // why there is no queue
};

} // namespace eve::fs

#include "temporary.hpp"

#include "c_path.hpp"
#include "format.hpp"
#include "pool.hpp"
#include "runtime.hpp"
#include "system_call.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eve::fs {

namespace {

spin_lock guard;
removal* all; // under the guard, as is what follows
bool hooked;

} // namespace

// What is to be removed: by a thread of the pool when its last handle has gone, or by the thread
// that ends the process.
struct removal final : blocking_call {
    string path;
    bool wanted = true; // under the guard, as are those below
    removal* next = nullptr;
    removal* before = nullptr;

    explicit removal(string of) noexcept : path(move(of)) {}

    // Under the guard. Returns false if it was taken before.
    bool take() noexcept {
        if (!wanted) return false;
        wanted = false;
        if (before != nullptr) before->next = next;
        else all = next;
        if (next != nullptr) next->before = before;
        return true;
    }
    void remove() noexcept {
        c_path name(path);
        remove_tree(AT_FDCWD, name.text()); // whoever has removed it has done the same
    }
    // It stays in the list until it is removed: the process may end before.
    void block() noexcept override {
        remove();
        {
            locked l(guard);
            take();
        }
        delete this;
    }
};

namespace {

void remove_rest() noexcept {
    for (;;) {
        string path;
        {
            locked l(guard);
            removal* r = all;
            if (r == nullptr) return;
            path = r->path;
            r->take();
        }
        c_path name(path);
        remove_tree(AT_FDCWD, name.text());
    }
}

end_hook rest{remove_rest};

string folder_or_standard(const string& folder) {
    if (!folder.empty()) return folder;
    const char* set = getenv("TMPDIR");
    if (set == nullptr || *set == '\0') return string::literal("/tmp");
    return string(set, static_cast<i64>(strlen(set)));
}

using made = result<ref<temporary>>;

// Makes something of a new name by `create`, which returns 0 or an errno.
template <class F> made make_new(const string& folder, const string& suffix, F create) {
    string within = folder_or_standard(folder);
    c_path valid(within), end(suffix);
    int code = valid.valid() && end.valid() && !suffix.contains(string::literal("/")) ? 0 : EINVAL;
    for (int attempts = 0; code == 0 && attempts < 100; attempts++) {
        u64 number = 0;
        (void)!getrandom(&number, sizeof number, 0);
        formatter f;
        f.put(within);
        f.text("/eve-", 5);
        f.put(number, {.verb = 'x', .width = 16, .zero = true});
        f.put(suffix);
        string name = f.take();
        c_path text(name);
        code = create(text.text());
        if (code == 0) return make<temporary>(temporary(move(name)));
        if (code == EEXIST) code = 0;
    }
    return file_error("make a temporary file in", within, code != 0 ? code : EEXIST);
}

} // namespace

temporary::temporary(string path) noexcept : removal_(new removal(move(path))) {
    locked l(guard);
    removal_->next = all;
    if (all != nullptr) all->before = removal_;
    all = removal_;
    if (!hooked) at_end(&rest);
    hooked = true;
}

temporary::~temporary() {
    if (removal_ == nullptr) return;
    bool wanted;
    {
        locked l(guard);
        wanted = removal_->wanted;
    }
    if (wanted) run_blocking(*removal_);
    else delete removal_;
}

string temporary::path() const noexcept { return removal_->path; }

void temporary::keep() noexcept {
    locked l(guard);
    removal_->take();
}

async<made> temporary_file(const string& folder, const string& suffix) {
    return slow<made>([folder, suffix] {
        return make_new(folder, suffix, [](const char* name) {
            constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
            int fd = retried([&] { return ::open(name, flags, 0600); });
            if (fd < 0) return -fd;
            ::close(fd);
            return 0;
        });
    });
}

async<made> temporary_folder(const string& folder) {
    return slow<made>([folder] {
        return make_new(folder, string(), [](const char* name) {
            return checked(retried([&] { return ::mkdir(name, 0700); }));
        });
    });
}

} // namespace eve::fs

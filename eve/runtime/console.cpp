#include "console.hpp"

#include "pool.hpp"
#include "runtime.hpp"
#include "worker.hpp"

namespace eve {

ref<output> the_stdout = make<output>(output(1));
ref<output> the_stderr = make<output>(output(2, output::mode::lines));

namespace {

end_hook flushes{finish_outputs};

// A root that holds an output while a pool thread writes the bytes that the reader was too slow
// for. It comes before all tasks that wait for the output, so the kept bytes do not grow with the
// number of tasks.
struct output_writer final : task, blocking_call {
    output& of;
    slot mine;

    explicit output_writer(output& o) noexcept : task{&kind_of}, of(o) {
        header* object = header_of(o);
        object->keep();
        mine = slot{object, nullptr, this, true, false};
        slots = &mine;
        count = 1;
    }
    // Runs as a root, and keeps its permissions.
    static void run(task* t, worker*, frame*) {
        arm();
        t->count = 0;
    }
    static void end(task* t) noexcept { run_blocking(*static_cast<output_writer*>(t)); }
    static constexpr task_kind kind_of = {run, end, {"output to a slow reader"}};

    void block() noexcept override {
        of.write_on();
        header* object = header_of(of);
        count = 1;
        give_back_all(this);
        object->drop();
        destroy(this);
        spawn([](worker*, frame*) {
            disarm();
        }); // by a worker, which then checks whether more has been written
    }
};

bool keep_back(output& o) noexcept {
    if (self() == nullptr || (&o != &*the_stdout && &o != &*the_stderr)) return false;
    enqueue_first(create<output_writer>(o));
    return true;
}

// Flushes all output at any end of the process.
struct registration {
    registration() noexcept {
        at_end(&flushes);
        write_later = keep_back;
    }
} registered;

} // namespace
} // namespace eve

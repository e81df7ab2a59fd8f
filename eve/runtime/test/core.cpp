// The tests of the core in one program: core [gate|loan|task|worker|forkjoin|scope|memory|
// fake_time]...,
// all without arguments.
#include <stdio.h>
#include <string.h>

namespace eve::test {
void test_gates();
void test_loans();
void test_tasks();
void test_workers();
void test_forkjoin();
void test_scopes();
void test_memory();
void test_fake_time();
} // namespace eve::test

int main(int argc, char** argv) {
    using namespace eve::test;
    struct {
        const char* name;
        void (*test)();
    } all[] = {{"gate", test_gates},    {"loan", test_loans},         {"forkjoin", test_forkjoin},
               {"task", test_tasks},    {"worker", test_workers},     {"scope", test_scopes},
               {"memory", test_memory}, {"fake_time", test_fake_time}};
    int done = 0;
    for (auto& t : all) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], t.name) == 0;
        if (!wanted) continue;
        t.test();
        fflush(stdout);
        done++;
    }
    return done > 0 ? 0 : 2;
}

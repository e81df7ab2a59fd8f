package symbols

import (
	"os"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for mangled, want := range map[string]struct {
		name string
		eve  bool
	}{
		"_ZL9fib__mainPN3eve6workerEPNS_5frameE":                   {"fib.main", true},
		"_ZL17main__fib__child1PN3eve6workerEPNS_5frameES3_":       {"main.fib, @ in finish", true},
		"_ZN17main__main__task1clEPN3eve6workerEPNS0_5frameE":      {"main.main, @", true},
		"_ZN3eve7task_ofI17main__main__task1Li1EE3runEPNS_4taskE":  {"main.main, @", true},
		"_ZN3eve10handler_ofI6m__jobS1_LiE3runEv":                  {"m.job", true},
		"_ZN3eve10handler_ofI6m__jobS1_17m__main__on_done1E3runEv": {"m.main, on done", true},
		"_ZN3eve9make_taskI17main__main__task1JNS_5grantEEEEv":     {"eve::make_task", false},
		"_ZN3eve12_GLOBAL__N_113uring_reactor4pollERNS_4loopE":     {"eve::uring_reactor::poll", false},
		"_ZNK3eve6string4sizeEv":                                   {"eve::string::size", false},
		"memcpy":                                                   {"memcpy", false},
		"_ZL9fib__mainPN3eve6workerEPNS_5frameE.part.0":            {"fib.main", true},
		"_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_":        {"std::move", false},
		"":                        {"", false},
		"_Z99999999999999999999x": {"_Z99999999999999999999x", false},
		"_Z0":                     {"_Z0", false},
	} {
		if name, eve := Function(mangled); name != want.name || eve != want.eve {
			t.Errorf("Function(%q) = %q, %v, want %q, %v", mangled, name, eve, want.name, want.eve)
		}
	}
}

func TestCode(t *testing.T) {
	for pretty, want := range map[string]string{
		"constexpr const char* eve::name_of() [with F = a__b__say__task3]": "a.b.say, @",
		"[with F = chat__main__on_line12; int N = 2]":                      "chat.main, on line",
		"[with F = chat__main__then1]":                                     "chat.main, behind <-",
		"const char *eve::name_of() [F = a__b__child1]":                    "a.b, @ in finish",
		"[with F = start_(eve::worker*)::<lambda(eve::worker*)>]":          "main",
		"[with F = eve::run(int)::<lambda(eve::worker*)>]":                 "start of the program",
		"[with F = run(int)::<lambda(eve::worker*)>]":                      "start of the program",
		"output": "output",
	} {
		if got := Code(pretty); got != want {
			t.Errorf("Code(%q) = %q, want %q", pretty, got, want)
		}
	}
}

func TestNoProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"no-such-file", "symbols.go", ".", os.DevNull, self} {
		if _, err := Read(program, 0); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: got %v", program, err)
		}
	}
}

func FuzzFunction(f *testing.F) {
	f.Add("_ZL17main__fib__child1PN3eve6workerEPNS_5frameES3_")
	f.Add("_ZN3eve7task_ofI17main__main__task1Li1EE3runEPNS_4taskE")
	f.Fuzz(func(t *testing.T, mangled string) {
		if name, _ := Function(mangled); mangled != "" && name == "" &&
			!strings.HasPrefix(mangled, ".") {
			t.Errorf("%q has no name", mangled)
		}
	})
}

package check

import (
	"fmt"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// TestFold holds the values of constant expressions; a code stands for an error.
func TestFold(t *testing.T) {
	tests := []struct {
		typ, text string
		want      any
	}{
		{"int", "1 + 2 * 3", int64(7)},
		{"int", "7 / 2 - 7 % 4", int64(0)},
		{"int", "-7 / 2", int64(-3)},
		{"int", "-7 % 2", int64(-1)},
		{"int", "1 << 62", int64(1 << 62)},
		{"int", "0x10 | 0b1", int64(17)},
		{"int", "2 ** 10", int64(1024)},
		{"int", "(0 - 1) ** 1000001", int64(-1)},
		{"int", "0xff & 0x0f ^ 1", int64(14)},
		{"int", "~5", int64(-6)},
		{"int", "20mib", int64(20 << 20)},
		{"int", "int(2.9)", int64(2)},
		{"int", "int('a')", int64(97)},
		{"uint", "18446744073709551615", uint64(1<<64 - 1)},
		{"uint", "1 << 63", uint64(1 << 63)},
		{"uint<8>", "uint<8>(255) +% 2", int64(1)},
		{"int<8>", "int<8>(127) +% 1", int64(-128)},
		{"int<8>", "int<8>(-128) -% 1", int64(127)},
		{"uint<8>", "~uint<8>(1)", int64(254)},
		{"float", "1 / 4.0", 0.25},
		{"float", "3", 3.0},
		{"float", "2.0 ** 3.0", 8.0},
		{"float<32>", "0.1", float64(float32(0.1))},
		{"bool", "1 < 2 && !(2.5 <= 1.0)", true},
		{"bool", `"a" < "b" || "a" == "b"`, true},
		{"bool", "true != true", false},
		{"bool", "false || true == true", true},
		{"bool", "1.5 == 1.5 && 2.5 > 1.0 && 1.0 >= 1.0 && 1.0 != 2.0", true},
		{"bool", `"a" >= "b" || "a" > "b"`, false},
		{"bool", `"a" != "b" && "a" <= "b"`, true},
		{"bool", "0.0 / 0.0 == 0.0 / 0.0", false},
		{"float", "1.5 - 0.5 / 2.0 * 3.0", 0.75},
		{"float", "-2.5", -2.5},
		{"float", "float(3) + 0.5", 3.5},
		{"float", "float(18446744073709551615)", float64(1 << 64)},
		{"float", "float(float<32>(1.5))", 1.5},
		{"int?", "5", nil},
		{"float!", "5", nil},
		{"string", `"a" + "b"`, "ab"},
		{"char", "'z'", int64('z')},
		{"duration", "1s + 500ms", int64(1_500_000_000)},
		{"int<8>", "127 + 1", diag.Code("E0309")},
		{"uint", "0 - 1", diag.Code("E0309")},
		{"int", "1 << 63", diag.Code("E0309")},
		{"int", "1 << 64", diag.Code("E0309")},
		{"int", "9223372036854775807 + 1", diag.Code("E0309")},
		{"int", "int<8>(200)", diag.Code("E0309")},
		{"int", "10 ** 100", diag.Code("E0309")},
		{"int", "1 / (2 - 2)", diag.Code("E0316")},
		{"int", "1.5", diag.Code("E0300")},
		{"int<16>", "int<32>(5)", diag.Code("E0300")},
	}
	for _, test := range tests {
		diags := &diag.List{}
		text := fmt.Sprintf("const x: %s = %s\nmain: () void: pass\n", test.typ, test.text)
		p := Program(source.NewFile("main.eve", text), nil, diags)
		var got any
		if all := diags.Sorted(); len(all) > 0 {
			got = all[0].Code
		} else if k, ok := p.Modules[len(p.Modules)-1].Globals[0].Init.(*ir.Const); ok {
			got = k.Value
		}
		if got != test.want {
			t.Errorf("%s = %s is %v (%T), want %v (%T)", test.typ, test.text, got, got, test.want,
				test.want)
		}
	}
}

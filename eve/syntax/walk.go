package syntax

import "reflect"

// Walk calls visit for n and every node below it, parents first, in the order of the tree's
// fields. It does not go below a node for which visit returns false.
func Walk(n Node, visit func(Node) bool) {
	walkValue(reflect.ValueOf(n), visit)
}

func walkValue(v reflect.Value, visit func(Node) bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walkValue(v.Elem(), visit)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(Node); ok && visit(n) {
			walkFields(v.Elem(), visit)
		}
	case reflect.Slice:
		if v.Type() == tokensType {
			return
		}
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	case reflect.Struct: // a part of a format string
		walkFields(v, visit)
	}
}

func walkFields(v reflect.Value, visit func(Node) bool) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice:
			walkValue(f, visit)
		}
	}
}

package manifest

// readCurves reads the [[curve]]s: published figures.
func (r *experimentReader) readCurves() {
	for _, t := range r.top.tables("curve") {
		c := Curve{
			Model:    t.need("model", "whose figures they are"),
			Metric:   Metric(t.needWord("metric", metrics)),
			Label:    t.need("label", "what the figure's key says"),
			Relative: t.term("relative"),
			Points:   t.pairs("points"),
		}
		t.finish()
		r.checkTerm(t, &Claim{Metric: Lines}, "model", -1, Term{Model: c.Model})
		r.checkTerm(t, &Claim{Metric: Lines}, "relative", -1, c.Relative)
		if r.sweep == nil {
			r.d.fail(t.line(), "%s: a curve needs a sweep to be drawn over", t.title())
		}
		r.Curves = append(r.Curves, c)
	}
}

// pairs reads [[x, y], ...] with rising x.
func (t *table) pairs(key string) [][2]float64 {
	v, ok := t.get(key)
	list, isList := v.([]any)
	if !ok || !isList || len(list) == 0 {
		t.d.fail(t.at(key), "%s: points: expected pairs such as [[1, 0.5], [2, 0.7]], got %s", t.title(), show(v))
		return nil
	}
	var out [][2]float64
	for i, e := range list {
		pair, _ := e.([]any)
		var xy [2]float64
		good := len(pair) == 2
		for j := range min(2, len(pair)) {
			n, ok := asNumber(pair[j])
			good = good && ok
			xy[j] = n
		}
		switch {
		case !good:
			t.d.fail(t.atItem(key, i), "%s: expected a pair of numbers such as [1, 0.5], got %s", key, show(e))
		case len(out) > 0 && out[len(out)-1][0] >= xy[0]:
			t.d.fail(t.atItem(key, i), "%s: %v does not rise over the value before it", key, xy[0])
		default:
			out = append(out, xy)
		}
	}
	return out
}

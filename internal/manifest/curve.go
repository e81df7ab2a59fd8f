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
		r.Curves = append(r.Curves, c)
		if !r.sure {
			continue
		}
		r.checkTerm(t, &Claim{Metric: Lines}, "model", -1, Term{Model: c.Model})
		r.checkTerm(t, &Claim{Metric: Lines}, "relative", -1, c.Relative)
		if r.sweep == nil {
			r.d.fail(t.line(), "%s: a curve needs a sweep to be drawn over", t.title())
		}
	}
}

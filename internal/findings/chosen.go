package findings

// Answers to "which model should I take?" from a run of their own. A run that spends its time on
// claims measures few models at a point. What else is known of a service need not share its
// windows, nor its machine: ratios are formed within one point of one run.

// Choose takes over the answers of another run, for each service of which it tells more than is
// known here. It returns the names of those services.
func (f *Figures) Choose(other *Figures) []string {
	return f.choose(other.Choices, other.Run, NameOf(other.Machine))
}

// KeepChosen goes on with the answers that earlier figures have from runs of their own.
func (f *Figures) KeepChosen(earlier *Figures) {
	for _, c := range earlier.Choices {
		known := toldApart(f.Choices, c.Service)
		if c.Run != "" && known < toldApart(earlier.Choices, c.Service) {
			f.choose(ofService(earlier.Choices, c.Service), c.Run, c.Machine)
		}
	}
}

// choose has the answers of one run on a machine in the place of those that tell less.
func (f *Figures) choose(choices []Choice, run, machine string) []string {
	var taken []string
	for i := 0; i < len(choices); {
		service := choices[i].Service
		these := ofService(choices[i:], service)
		i += len(these)
		if toldApart(these, service) <= toldApart(f.Choices, service) {
			continue
		}
		for j := range these {
			these[j].Run, these[j].Machine = run, machine
		}
		f.Choices = replaceService(f.Choices, service, these)
		taken = append(taken, service)
	}
	return taken
}

// toldApart counts the models that the answers for a service set against the best of each need.
// Lines of code count for nothing: every run has them of all models that it measured.
func toldApart(choices []Choice, service string) int {
	n := 0
	for _, c := range choices {
		if c.Service != service || c.Experiment == "" {
			continue
		}
		for _, p := range c.Models {
			if p.Times.bounded() {
				n++
			}
		}
	}
	return n
}

// ofService copies the answers for one service.
func ofService(choices []Choice, service string) []Choice {
	var out []Choice
	for _, c := range choices {
		if c.Service == service {
			out = append(out, c)
		}
	}
	return out
}

// replaceService has other answers for one service. Services stay in the order of their names.
func replaceService(choices []Choice, service string, by []Choice) []Choice {
	var out []Choice
	for _, c := range choices {
		if c.Service > service && by != nil {
			out, by = append(out, by...), nil
		}
		if c.Service != service {
			out = append(out, c)
		}
	}
	return append(out, by...)
}

package prove

import (
	"context"
	"os"
	"regexp"
)

// mostAgain bounds how many failed tests of one package are run again. More of them that fail in
// one run have a cause in common. A guess.
const mostAgain = 3

// defects matches what no busy machine explains: reports of the race detector and the sanitizers,
// and crashes.
var defects = regexp.MustCompile(`DATA RACE|\w+Sanitizer: |runtime error: |panic: |fatal error: |` +
	`SIGSEGV|segmentation fault|the test program ended with`)

// again runs the failed tests of a result Options.Again times more, beside whatever runs meanwhile.
// If each of them passes each time, they are unsteady: the result lists them apart and has not
// failed. Otherwise the result stays as it is.
func (r *runner) again(ctx context.Context, j *job, program string, result *Result) error {
	if r.Again == 0 || len(result.Failures) > mostAgain {
		return nil
	}
	for _, f := range result.Failures {
		if f.Test == "" || defects.MatchString(f.Output) {
			return nil
		}
	}
	for _, f := range result.Failures {
		one := *j
		one.tests, one.skip = pattern(f.Test), ""
		for range r.Again {
			tried, log, err := r.execute(ctx, &one, program)
			os.Remove(log)
			if err != nil {
				return err
			}
			result.User, result.System = result.User+tried.User, result.System+tried.System
			if tried.Failed > 0 || tried.Passed == 0 {
				return nil
			}
		}
	}
	result.Unsteady, result.Failures = result.Failures, nil
	result.Passed, result.Failed = result.Passed+result.Failed, 0
	return nil
}

// Which rows of a long list are drawn: those on the screen, and some screens above and below. A
// span is the rows from first to before end, and above, the height of the space that stands for
// those before. heights are those of all rows, in px; top is where in the list the screen begins.

const drawn = 2; // screens above and below the one that is seen
const least = 1; // screens there of which more are drawn

/** total is the height of the rows from one to before another; less than 0 if that comes first. */
export function total(heights, from, to) {
  if (to < from) return -total(heights, to, from);
  let sum = 0;
  for (let at = from; at < to; at++) sum += heights[at];
  return sum;
}

/**
 * covers says whether a span has what is seen and so many screens above and below, as far as there
 * are rows.
 */
export function covers(heights, span, top, screen, screens = least) {
  const { first, end, above } = span;
  const more = screens * screen;
  const below = above + total(heights, first, end);
  return (
    (first === 0 || above <= top - more) &&
    (end === heights.length || below >= top + screen + more)
  );
}

/**
 * around is the span for a screen. Its rows are where those of the span before are; it may be one
 * without rows, which only says where a row begins.
 */
export function around(heights, span, top, screen) {
  let { first, end, above } = span;
  const from = top - drawn * screen;
  const to = top + screen + drawn * screen;
  let below = above + total(heights, first, end);
  while (first > 0 && above > from) above -= heights[--first];
  while (end < heights.length && below < to) below += heights[end++];
  while (first < end && above + heights[first] <= from)
    above += heights[first++];
  while (end > first && below - heights[end - 1] >= to) below -= heights[--end];
  return { first, end, above };
}

// The messages of a room in the document: those on the screen, and some screens above and below.
// Spaces stand for all others, so the bar scrolls over the whole room.
//
// A message on the screen stays where it is when something above it changes: messages come or go,
// images are loaded, and heights were guessed wrongly. The space above the drawn messages takes the
// difference, since setting scrollTop ends a movement that a wheel or a finger has begun. scrollTop
// is set only where the space cannot take it, and when the scrolling has ended.

import { isRule, rowsOf } from "./rows.js";
import { around, covers, total } from "./span.js";
import { draw, nodeOf } from "./timeline.js";

const slack = 2000; // px by which the space above may be wrong during a movement: a guess
const rest = 150; // ms without a scroll event after which a movement has ended: a guess
const held = 1000; // rows that stay drawn because text in them is selected
const tries = 4; // spans that are drawn until the heights of their rows are known

export class Scroller {
  constructor(scroll, list) {
    this.scroll = scroll;
    this.list = list;
    this.rows = [];
    this.heights = []; // of the rows, in px
    this.span = { first: 0, end: 0, above: 0 };
    this.how = null; // how rows are drawn
    this.seen = []; // the marks of what is on the screen, as it was last
    this.stop = null; // the message that has the focus, or had it last
    this.ended = null; // the timer that ends a movement
  }

  get screen() {
    return this.scroll.clientHeight;
  }

  /** top is where in the list the screen begins. */
  get top() {
    const { scroll, list } = this;
    return (
      scroll.getBoundingClientRect().top - list.getBoundingClientRect().top
    );
  }

  /**
   * marks are the drawn messages from the beginning of the screen on, each with its place and where
   * it ends in all that is scrolled: the nick above it may go when others come before it.
   */
  marks() {
    const { rows, heights, span, top } = this;
    const begin = this.scroll.scrollTop - top; // of the list
    const list = [];
    let y = span.above;
    for (let at = span.first; at < span.end; at++) {
      y += heights[at];
      if (y > top && !isRule(rows[at]))
        list.push({ row: rows[at], at, y: y + begin });
    }
    return list;
  }

  /** show shows messages. One of those in marks stays where it was, or the end is shown. */
  show(messages, how, marks, atEnd) {
    this.rows = rowsOf(messages, how);
    // apart from the rows: they are added up often
    this.heights = this.rows.map(({ height }) => height);
    this.how = how;
    if (atEnd) {
      this.toEnd();
      return;
    }
    let at = -1;
    const mark = marks.find(({ row }) => (at = this.rows.indexOf(row)) >= 0);
    if (mark) this.keep(at, mark.y);
    else this.lay(0, 0, this.top);
    this.seen = this.marks();
  }

  /** clear forgets all messages. */
  clear() {
    this.rows = [];
    this.heights = [];
    this.stop = null;
    this.lay(0, 0, 0);
    this.seen = [];
  }

  /** slide draws what has come near the screen. */
  slide() {
    const { heights, span, top } = this;
    if (heights.length === 0) return;
    clearTimeout(this.ended);
    this.ended = setTimeout(() => this.settle(), rest);
    if (!covers(heights, span, top, this.screen)) {
      const [mark] = this.marks();
      if (mark) this.keep(mark.at, mark.y);
      else this.lay(span.first, span.above, top); // a jump
    }
    this.seen = this.marks();
  }

  /** toEnd shows the end of the list. */
  toEnd() {
    const { heights, scroll } = this;
    const y = total(heights, 0, heights.length);
    this.lay(heights.length, y, y - this.screen);
    scroll.scrollTop = scroll.scrollHeight;
    this.seen = this.marks();
  }

  /**
   * resized is called when drawn rows, or the screen, have another size. It draws nothing, and
   * says whether something is to be drawn.
   */
  resized(atEnd) {
    const { heights, scroll, span } = this;
    if (heights.length === 0 || this.screen === 0) return false;
    this.measure();
    const [mark] = this.seen;
    if (atEnd) {
      this.pad(span);
      scroll.scrollTop = scroll.scrollHeight;
    } else if (mark && mark.at >= span.first && mark.at < span.end) {
      const y = mark.y - scroll.scrollTop + this.top;
      const above = y - total(heights, span.first, mark.at + 1);
      this.space({ ...span, above }, scroll.scrollTop);
    }
    this.seen = this.marks();
    return !covers(heights, this.span, this.top, this.screen);
  }

  /**
   * keep draws the rows around the screen. The row at a place ends at y of all that is scrolled.
   */
  keep(at, y) {
    const { top } = this;
    this.lay(at + 1, y - this.scroll.scrollTop + top, top);
  }

  /**
   * lay draws the rows around a screen that begins at top. The row at a place, or the end of the
   * rows, is at y of the list.
   */
  lay(at, y, top) {
    const { rows, heights, screen } = this;
    const { scrollTop } = this.scroll;
    const last = y + total(heights, at, heights.length) - screen;
    const begin = Math.max(y - total(heights, 0, at), Math.min(top, last));
    let span = { first: at, end: at, above: y };
    for (let left = tries; left > 0; left--) {
      span = this.hold(around(heights, span, begin, screen));
      draw(this.list, rows, span, this.how);
      this.pad(span);
      this.measure();
      span = { ...span, above: y - total(heights, span.first, at) };
      if (screen === 0 || covers(heights, span, begin, screen, 0)) break;
    }
    this.space(span, scrollTop);
    this.rove();
  }

  /** hold is a span that has also the rows in which text is selected. */
  hold(span) {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed) return span;
    let { first, end } = span;
    for (const node of [selection.anchorNode, selection.focusNode]) {
      const element = node instanceof Element ? node : node?.parentElement;
      const at = this.rows.indexOf(element?.closest("li")?.message);
      if (at < 0) continue;
      first = Math.min(first, at);
      end = Math.max(end, at + 1);
    }
    if (end - first > held) return span;
    const above = span.above - total(this.heights, first, span.first);
    return { first, end, above };
  }

  /** measure gives the drawn rows the heights that they have. */
  measure() {
    if (this.screen === 0) return; // the page is not shown
    const { rows, heights, list, span } = this;
    let above = list.getBoundingClientRect().top + Math.max(0, span.above);
    let at = span.first;
    for (const li of list.children) {
      const { bottom } = li.getBoundingClientRect();
      if (bottom > above) rows[at].height = heights[at] = bottom - above;
      above = bottom;
      at++;
    }
  }

  /**
   * space makes the spaces above and below a span, and corrects the one above if that must be.
   * scrollTop is where the screen was before anything was changed.
   */
  space(span, scrollTop) {
    const above = total(this.heights, 0, span.first);
    const wrong = above - span.above;
    const must = span.first === 0 || span.above < 0 || Math.abs(wrong) > slack;
    this.pad(must ? { ...span, above } : span);
    const to = must ? scrollTop + wrong : scrollTop;
    if (Math.abs(this.scroll.scrollTop - to) >= 1) this.scroll.scrollTop = to;
  }

  pad(span) {
    const { heights, list } = this;
    this.span = span;
    list.style.paddingTop = `${Math.max(0, span.above)}px`;
    const below = total(heights, span.end, heights.length);
    list.style.paddingBottom = `${below}px`;
  }

  /** settle corrects the space above, which a movement has left as it was. */
  settle() {
    const { heights, span, scroll } = this;
    const { scrollTop } = scroll;
    const above = total(heights, 0, span.first);
    const wrong = above - span.above;
    if (Math.abs(wrong) >= 1) {
      this.pad({ ...span, above });
      scroll.scrollTop = scrollTop + wrong;
    }
    this.rove();
    this.seen = this.marks();
  }

  /** reach draws a row, and returns its node. */
  reach(at) {
    const { rows, heights, span } = this;
    if (at < span.first || at >= span.end) {
      const y = total(heights, 0, at);
      this.lay(at, y, y - this.screen / 2);
      this.seen = this.marks();
    }
    return nodeOf(rows[at]);
  }

  /** focus gives a message the focus. */
  focus(at) {
    if (!this.rows[at]) return;
    this.stop = this.rows[at];
    const node = this.reach(at);
    node.scrollIntoView({ block: "nearest" });
    node.focus({ preventScroll: true });
    this.rove();
  }

  /**
   * rove makes one message the stop of Tab: the one that had the focus last, or the last on the
   * screen.
   */
  rove() {
    let stop = nodeOf(this.stop);
    const end = this.scroll.scrollTop + this.screen;
    for (const { row, y } of stop ? [] : this.marks())
      if (!stop || y <= end) stop = nodeOf(row);
    for (const li of this.list.children) {
      const index = li === stop ? 0 : -1;
      if (li.message && li.tabIndex !== index) li.tabIndex = index;
    }
  }
}

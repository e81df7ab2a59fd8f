/*
 * The tokens of Eve that a context-free lexer cannot know: the layout of lines,
 * as eve/syntax/layout.go has it, and brackets whose meaning depends on the text
 * behind them, as eve/syntax/types.go reads it.
 *
 * Between brackets the ends of lines mean nothing, so the scanner counts them.
 * Everywhere else a line that begins is a token: the indentation says which. A
 * token that no rule of the grammar expects there makes an error of the line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "tree_sitter/parser.h"

/* The order is that of `externals` in grammar.js. */
enum token {
	NEWLINE,	/* between two lines of a block */
	INDENT,		/* before the first line of a block */
	DEDENT,		/* behind the last one; empty */
	ELSE_LINE,	/* as NEWLINE, before `else` */
	TASK_LINE,	/* as NEWLINE, before `@` */
	LINE_COMMA,	/* outside of brackets: a, b: int, or assert c, "why" */
	COMMA,
	LIST_AHEAD,	/* the [ of a lambda's permission list */
	SQUARE_OPEN,
	SQUARE_CLOSE,
	ROUND_OPEN,
	ROUND_CLOSE,
	TYPES_AHEAD,	/* the < of type arguments in an expression */
	IMPORT,		/* allowed where a declaration begins */
	BLANK,		/* never comes, and is allowed everywhere */
	STRAY,		/* before a line that is too deep; allowed nowhere */
	RECOVERING	/* never comes, and is allowed only behind an error */
};

enum {
	MAX_LEVELS = 400,	/* of blocks; the parser allows 200 */
	MAX_COLUMN = 0x7fff,
	GHOST = 0x8000,		/* of a level: no block of the grammar belongs to it */
	MAX_COMMENTS = 1000,	/* lines of comments that are looked at in one go */
	TAB = 4			/* columns, as in layout.go */
};

struct scanner {
	bool begun;		/* a token has come */
	uint16_t pending;	/* 1 + column of a line whose begin was a DEDENT; 0: none */
	uint16_t depth;		/* open brackets */
	uint16_t count;		/* of levels; the first is column 0 */
	uint16_t levels[MAX_LEVELS];
};

static bool
take(TSLexer *lexer, enum token token)
{
	lexer->result_symbol = (TSSymbol)token;
	return true;
}

static void
push(struct scanner *s, unsigned level)
{
	if (s->count < MAX_LEVELS)
		s->levels[s->count++] = (uint16_t)level;
}

/* A line that begins. */
struct line {
	bool begins;
	bool pending;			/* its begin was a DEDENT already */
	bool marked;			/* mark_end was called where its text begins */
	bool end;			/* it is the end of the text */
	unsigned column;
	unsigned comments;		/* in lines of their own before it, less deep */
};

/* The column of the innermost level. */
static unsigned
top_column(const struct scanner *s)
{
	return s->levels[s->count - 1] & MAX_COLUMN;
}

/*
 * Moves to the next text that has a meaning. False if a comment comes first: one behind
 * text, in brackets, or as deep as the block it is in. Comments that are less deep may
 * belong to the next block, so the line behind them decides.
 */
static bool
find_line(const struct scanner *s, TSLexer *lexer, bool first, struct line *line)
{
	*line = (struct line){0};
	/* At the end of the text get_column of tree-sitter 0.20 reads from no text. */
	if (s->pending > 0 && !lexer->eof(lexer) && lexer->get_column(lexer) + 1u == s->pending) {
		line->begins = line->pending = true;
		line->column = s->pending - 1u;
	}
	for (;;) {
		switch (lexer->lookahead) {
		case '\n':
			line->begins = true;
			line->column = 0;
			break;
		case ' ':
			line->column++;
			break;
		case '\t':
			line->column += TAB - line->column % TAB;
			break;
		case '\r':
			break;
		case '#':
			if (!line->begins || s->depth > 0 || line->column >= top_column(s))
				return false;
			if (++line->comments == MAX_COMMENTS)
				return true;
			skip_comment(lexer);
			continue;
		default:
			line->end = lexer->eof(lexer);
			if (line->end)
				line->column = 0;
			/* The first line of a text begins without the end of another. */
			line->begins = line->begins || line->end || (first && line->column > 0);
			if (line->column > MAX_COLUMN)
				line->column = MAX_COLUMN;
			return true;
		}
		lexer->advance(lexer, true);
	}
}

/*
 * Takes the token of a line that begins. It ends where the text of the line begins.
 * Only a DEDENT is empty, so that its block ends with its last statement. Behind an
 * error empty tokens are ignored, so there a DEDENT has the end of the line, too, and
 * the tokens that follow it know this from `pending`.
 */
static bool
take_line(struct scanner *s, TSLexer *lexer, const bool *valid, const struct line *line)
{
	bool recovering = valid[RECOVERING];
	char word[WORD];

	while ((s->levels[s->count - 1] & GHOST) != 0 && line->column < top_column(s))
		s->count--;
	if (line->column < top_column(s)) {
		if (recovering && line->comments > 0)
			return false;
		if (recovering && !line->marked)
			lexer->mark_end(lexer);
		s->pending = 0;
		if (recovering || line->marked || line->pending)
			s->pending = (uint16_t)(line->column + 1);
		s->count--;
		return take(lexer, DEDENT);
	}
	if (line->comments > 0 || line->end)
		return false;
	if (!line->marked)
		lexer->mark_end(lexer);
	s->pending = 0;
	if (line->column > top_column(s)) {
		if (recovering) {
			push(s, line->column | GHOST);
			return take(lexer, NEWLINE);
		}
		push(s, valid[INDENT] ? line->column : line->column | GHOST);
		return take(lexer, valid[INDENT] ? INDENT : STRAY);
	}
	if (recovering || line->marked)
		return take(lexer, NEWLINE);
	if (valid[TASK_LINE] && lexer->lookahead == '@')
		return take(lexer, TASK_LINE);
	if (valid[ELSE_LINE] && is_letter(lexer->lookahead)) {
		read_word(lexer, word);
		if (strcmp(word, "else") == 0)
			return take(lexer, ELSE_LINE);
	}
	return take(lexer, NEWLINE);
}

/* Takes a bracket, and counts it. */
static bool
take_bracket(struct scanner *s, TSLexer *lexer, const bool *valid, enum token token)
{
	bool opens = token == SQUARE_OPEN || token == ROUND_OPEN;
	bool outside = s->depth == 0;

	if (!valid[token] && !(token == SQUARE_OPEN && valid[LIST_AHEAD]))
		return false;
	advance(lexer);
	lexer->mark_end(lexer);
	if (opens && s->depth < UINT16_MAX)
		s->depth++;
	else if (!opens && s->depth > 0)
		s->depth--;
	if (token == SQUARE_OPEN && valid[LIST_AHEAD] && !valid[RECOVERING] &&
	    list_ahead(lexer, !outside))
		token = LIST_AHEAD;
	return take(lexer, token);
}

/* Takes a token within a line. */
static bool
take_sign(struct scanner *s, TSLexer *lexer, const bool *valid)
{
	switch (lexer->lookahead) {
	case '(':
		return take_bracket(s, lexer, valid, ROUND_OPEN);
	case ')':
		return take_bracket(s, lexer, valid, ROUND_CLOSE);
	case '[':
		return take_bracket(s, lexer, valid, SQUARE_OPEN);
	case ']':
		return take_bracket(s, lexer, valid, SQUARE_CLOSE);
	case ',':
		if (!valid[LINE_COMMA] || valid[RECOVERING] || s->depth > 0)
			return false;
		advance(lexer);
		lexer->mark_end(lexer);
		if (valid[COMMA] && types_ahead(lexer, false))
			return false;	/* assert f<A, B>(x) */
		return take(lexer, LINE_COMMA);
	case '<':
		if (!valid[TYPES_AHEAD] || valid[RECOVERING])
			return false;
		advance(lexer);
		lexer->mark_end(lexer);
		return types_ahead(lexer, s->depth > 0) && take(lexer, TYPES_AHEAD);
	default:
		return false;
	}
}

static bool
scan(struct scanner *s, TSLexer *lexer, const bool *valid)
{
	struct line line;

	lexer->mark_end(lexer);
	if (!find_line(s, lexer, !s->begun && valid[IMPORT] && !valid[RECOVERING], &line))
		return false;
	if (!line.begins)
		return take_sign(s, lexer, valid);
	if (s->depth > 0 && !line.end) {
		if (line.column > top_column(s) ||
		    (!is_letter(lexer->lookahead) && lexer->lookahead != '@'))
			return take_sign(s, lexer, valid);
		lexer->mark_end(lexer);
		line.marked = true;
		if (!starts_statement(lexer))
			return false;
	}
	s->depth = 0;
	return take_line(s, lexer, valid, &line);
}

void *
tree_sitter_eve_external_scanner_create(void)
{
	struct scanner *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->count = 1;
	return s;
}

void
tree_sitter_eve_external_scanner_destroy(void *payload)
{
	free(payload);
}

/* The state is the struct up to its last level: at most 808 of 1024 bytes. */
static size_t
state_size(const struct scanner *s)
{
	return offsetof(struct scanner, levels) + s->count * sizeof(s->levels[0]);
}

unsigned
tree_sitter_eve_external_scanner_serialize(void *payload, char *buffer)
{
	const struct scanner *s = payload;

	memcpy(buffer, s, state_size(s));
	return (unsigned)state_size(s);
}

void
tree_sitter_eve_external_scanner_deserialize(void *payload, const char *buffer, unsigned length)
{
	struct scanner *s = payload;

	memset(s, 0, sizeof(*s));
	s->count = 1;
	if (length > 0 && length <= sizeof(*s))
		memcpy(s, buffer, length);
}

bool
tree_sitter_eve_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid)
{
	struct scanner *s = payload;

	if (!scan(s, lexer, valid))
		return false;
	s->begun = true;
	return true;
}

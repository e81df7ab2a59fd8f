/*
 * What the scanner sees ahead of a token: words, blanks, types and permission lists.
 * Nothing here is a part of a token, so each function may be called only behind
 * mark_end.
 */
#ifndef EVE_AHEAD_H
#define EVE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tree_sitter/parser.h"

enum {
	MAX_NESTING = 50,	/* of type arguments that are looked at; as in types.go */
	WORD = 16		/* bytes of a word; no keyword is as long */
};

/* The words that cannot be names, and whether a statement may start with one. */
static const struct keyword {
	const char *word;
	bool starts;
} keywords[] = {
	{"import", true}, {"pub", true}, {"type", false}, {"const", true}, {"finish", true},
	{"on", true}, {"if", true}, {"else", false}, {"while", true}, {"for", true},
	{"in", false}, {"match", true}, {"return", true}, {"break", true}, {"continue", true},
	{"pass", true}, {"assert", true}, {"fail", true}, {"defer", true}, {"true", false},
	{"false", false}, {"none", false},
};

static bool
is_digit(int32_t c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(int32_t c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void
advance(TSLexer *lexer)
{
	lexer->advance(lexer, false);
}

/* Reads letters and digits. A word that is longer than any keyword is cut off. */
static void
read_word(TSLexer *lexer, char word[WORD])
{
	size_t n = 0;

	while (is_letter(lexer->lookahead) || is_digit(lexer->lookahead)) {
		if (n < WORD - 1)
			word[n++] = (char)lexer->lookahead;
		advance(lexer);
	}
	word[n] = '\0';
}

static const struct keyword *
find_keyword(const char *word)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strcmp(keywords[i].word, word) == 0)
			return &keywords[i];
	return NULL;
}

/* Reads a name; false if there is none. */
static bool
read_name(TSLexer *lexer)
{
	char word[WORD];

	if (!is_letter(lexer->lookahead))
		return false;
	read_word(lexer, word);
	return find_keyword(word) == NULL;
}

static void
skip_comment(TSLexer *lexer)
{
	while (lexer->lookahead != '\n' && !lexer->eof(lexer))
		advance(lexer);
}

/* Looks beyond blanks and, with `lines`, beyond ends of lines and comments. */
static void
skip_blanks(TSLexer *lexer, bool lines)
{
	for (;;) {
		switch (lexer->lookahead) {
		case '\n':
			if (!lines)
				return;
			/* FALLTHROUGH */
		case ' ':
		case '\t':
		case '\r':
			advance(lexer);
			break;
		case '#':
			if (!lines)
				return;
			skip_comment(lexer);
			break;
		default:
			return;
		}
	}
}

/* A reader looks over the types behind a <, as the one of types.go. */
struct reader {
	TSLexer *lexer;
	bool lines;		/* the ends of lines mean nothing */
	unsigned nesting;
};

static bool read_type(struct reader *);

/* Says whether a word that starts with a digit is an integer. */
static bool
is_integer(const char *word)
{
	const char *unit = word + strspn(word, "0123456789_");

	return *unit == '\0' || strcmp(unit + 1, "ib") == 0 || word[1] == 'x' || word[1] == 'b';
}

/* Reads what one type argument that is a number may be: 16, or 4 * n. */
static bool
read_size(struct reader *r)
{
	TSLexer *lexer = r->lexer;
	char word[WORD];

	for (;;) {
		if (is_digit(lexer->lookahead)) {
			read_word(lexer, word);
			if (!is_integer(word))
				return false;	/* 5ms */
		} else if (!read_name(lexer)) {
			return false;
		}
		skip_blanks(lexer, r->lines);
		switch (lexer->lookahead) {
		case '*':
		case '+':
		case '-':
			advance(lexer);
			skip_blanks(lexer, r->lines);
			break;
		default:
			return true;
		}
	}
}

/* Reads the rest of <A, B>, behind the < or behind a comma. */
static bool
read_arguments(struct reader *r)
{
	TSLexer *lexer = r->lexer;

	if (++r->nesting > MAX_NESTING)
		return false;
	for (;;) {
		skip_blanks(lexer, r->lines);
		if (is_digit(lexer->lookahead) ? !read_size(r) : !read_type(r))
			return false;
		skip_blanks(lexer, r->lines);
		if (lexer->lookahead != ',')
			break;
		advance(lexer);
	}
	r->nesting--;
	if (lexer->lookahead != '>')
		return false;
	advance(lexer);
	return lexer->lookahead != '=';
}

/* Reads (A, B). */
static bool
read_types(struct reader *r)
{
	TSLexer *lexer = r->lexer;
	bool lines = r->lines;

	if (lexer->lookahead != '(' || ++r->nesting > MAX_NESTING)
		return false;
	r->lines = true;
	do {
		advance(lexer);
		skip_blanks(lexer, true);
		if (lexer->lookahead == ')')
			break;
		if (!read_type(r))
			return false;
		skip_blanks(lexer, true);
	} while (lexer->lookahead == ',');
	if (lexer->lookahead != ')')
		return false;
	advance(lexer);
	r->lines = lines;
	r->nesting--;
	return true;
}

/* Reads the rest of <(A) R> par, behind the <. */
static bool
read_closure(struct reader *r)
{
	TSLexer *lexer = r->lexer;
	char word[WORD];

	skip_blanks(lexer, r->lines);
	if (!read_types(r) || !read_type(r))
		return false;
	if (lexer->lookahead != '>')
		return false;
	advance(lexer);
	if (lexer->lookahead == '=')
		return false;
	skip_blanks(lexer, r->lines);
	if (!is_letter(lexer->lookahead))
		return true;
	read_word(lexer, word);
	return strcmp(word, "par") == 0;
}

static bool
read_path(struct reader *r)
{
	TSLexer *lexer = r->lexer;
	char word[WORD];

	if (!read_name(lexer))
		return false;
	for (;;) {
		skip_blanks(lexer, r->lines);
		if (lexer->lookahead != '.')
			break;
		advance(lexer);
		skip_blanks(lexer, r->lines);
		if (!is_letter(lexer->lookahead))
			return false;
		read_word(lexer, word);
	}
	if (lexer->lookahead != '<')
		return true;
	advance(lexer);
	return lexer->lookahead != '<' && read_arguments(r);
}

/* Reads a type and the blanks behind it. */
static bool
read_type(struct reader *r)
{
	TSLexer *lexer = r->lexer;
	int32_t suffix;
	bool read;

	skip_blanks(lexer, r->lines);
	switch (lexer->lookahead) {
	case '(':
		read = read_types(r);
		break;
	case '<':
		advance(lexer);
		read = read_closure(r);
		break;
	default:
		read = read_path(r);
		break;
	}
	while (read) {
		skip_blanks(lexer, r->lines);
		suffix = lexer->lookahead;
		if (suffix != '@' && suffix != '&' && suffix != '?' && suffix != '!')
			break;
		advance(lexer);
		if ((suffix == '&' || suffix == '!') && lexer->lookahead == '=')
			read = false;	/* &= and != are operators */
	}
	return read;
}

/*
 * Says whether type arguments begin or go on here: types and a > follow, and then
 * text that cannot follow the > of a comparison.
 */
static bool
types_ahead(TSLexer *lexer, bool lines)
{
	struct reader r = {lexer, lines, 0};

	if (!read_arguments(&r))
		return false;
	skip_blanks(lexer, lines);
	switch (lexer->lookahead) {
	case '(':
	case ')':
	case ',':
	case ']':
	case '}':	/* the end of an expression in a format string */
	case '\n':
	case '#':
		return true;
	case '.':
		advance(lexer);
		return lexer->lookahead != '.';
	default:
		return lexer->eof(lexer);
	}
}

/* Says whether the text behind a [ is a permission list with parameters behind it. */
static bool
list_ahead(TSLexer *lexer, bool lines)
{
	char word[WORD];

	for (;;) {
		skip_blanks(lexer, true);
		switch (lexer->lookahead) {
		case '+':
		case '-':
		case '=':
		case '&':
		case ',':
			advance(lexer);
			break;
		case ']':
			advance(lexer);
			skip_blanks(lexer, lines);
			return lexer->lookahead == '(';
		default:
			if (!is_letter(lexer->lookahead))
				return false;
			read_word(lexer, word);
			break;
		}
	}
}

/* Says whether the line here begins a statement, so that no bracket is open before it. */
static bool
starts_statement(TSLexer *lexer)
{
	const struct keyword *found;
	char word[WORD];

	if (lexer->lookahead == '@')
		return true;
	read_word(lexer, word);
	found = find_keyword(word);
	return found != NULL && found->starts;
}

#endif

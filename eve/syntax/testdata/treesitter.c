/*
 * Parses texts with the parser of Eve for tree-sitter. It reads requests from the standard input:
 * a line "text N", "edit N" or "show N", and N bytes. An edit is parsed as an editor does it, from
 * the tree of the request before. The answer is a line with 1 if the text has an error and 0
 * otherwise, a line for each node, parents first, and a line with a dot. The line of a node has
 * its depth, where it starts and ends, and its kind. For "show" the one line between has the tree
 * as an S-expression.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_eve(void);

struct text {
	char *bytes;
	uint32_t length;
};

static void
show(TSTree *tree)
{
	TSNode node = ts_tree_root_node(tree);
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	unsigned depth = 0;

	for (;;) {
		node = ts_tree_cursor_current_node(&cursor);
		printf("%u %u %u %s\n", depth, ts_node_start_byte(node), ts_node_end_byte(node),
		    ts_node_type(node));
		if (ts_tree_cursor_goto_first_child(&cursor)) {
			depth++;
			continue;
		}
		while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
			if (!ts_tree_cursor_goto_parent(&cursor)) {
				ts_tree_cursor_delete(&cursor);
				return;
			}
			depth--;
		}
	}
}

static void
show_expression(TSTree *tree)
{
	char *text = ts_node_string(ts_tree_root_node(tree));

	printf("%s\n", text);
	free(text);
}

static TSPoint
point(struct text text, uint32_t at)
{
	TSPoint p = {0, 0};

	for (uint32_t i = 0; i < at; i++) {
		p.column++;
		if (text.bytes[i] == '\n')
			p = (TSPoint){p.row + 1, 0};
	}
	return p;
}

/* Tells a tree that its text becomes another, which differs in one place. */
static void
edit(TSTree *tree, struct text old, struct text new)
{
	uint32_t shorter = old.length < new.length ? old.length : new.length;
	uint32_t start = 0, end = 0;
	TSInputEdit change;

	while (start < shorter && old.bytes[start] == new.bytes[start])
		start++;
	while (end < shorter - start &&
	    old.bytes[old.length - 1 - end] == new.bytes[new.length - 1 - end])
		end++;
	change.start_byte = start;
	change.old_end_byte = old.length - end;
	change.new_end_byte = new.length - end;
	change.start_point = point(new, start);
	change.old_end_point = point(old, change.old_end_byte);
	change.new_end_point = point(new, change.new_end_byte);
	ts_tree_edit(tree, &change);
}

int
main(void)
{
	TSParser *parser = ts_parser_new();
	TSTree *tree = NULL, *next;
	struct text old = {NULL, 0}, new;
	char verb[8];

	if (!ts_parser_set_language(parser, tree_sitter_eve()))
		errx(1, "the parser's ABI is not that of libtree-sitter");
	while (scanf("%7s %u", verb, &new.length) == 2 && getchar() == '\n') {
		new.bytes = malloc(new.length + 1u);
		if (new.bytes == NULL)
			err(1, "malloc");
		if (fread(new.bytes, 1, new.length, stdin) != new.length)
			errx(1, "a text is shorter than its length");
		if (tree != NULL && strcmp(verb, "edit") == 0) {
			edit(tree, old, new);
		} else if (tree != NULL) {
			ts_tree_delete(tree);
			tree = NULL;
		}
		next = ts_parser_parse_string(parser, tree, new.bytes, new.length);
		if (next == NULL)
			errx(1, "there is no tree");
		if (tree != NULL)
			ts_tree_delete(tree);
		free(old.bytes);
		tree = next;
		old = new;
		printf("%d\n", ts_node_has_error(ts_tree_root_node(tree)));
		if (strcmp(verb, "show") == 0)
			show_expression(tree);
		else
			show(tree);
		printf(".\n");
		if (fflush(stdout) != 0)
			err(1, "stdout");
	}
	if (tree != NULL)
		ts_tree_delete(tree);
	free(old.bytes);
	ts_parser_delete(parser);
	return 0;
}

package syntax

var mistakes = []struct{ text string }{}

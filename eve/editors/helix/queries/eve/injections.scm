; The parser of comments colours the notes and links in them.
((comment) @injection.content
  (#set! injection.language "comment"))

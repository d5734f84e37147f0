/* escape.h: foreign text on its way out, one function for each kind of sink.
 *
 * Names come from the observed program and may hold anything. Each function appends `text` to
 * `out` so that the sink shows it and does not obey it; bytes that are no UTF-8 become U+FFFD, but
 * in words of a shell, which are to name the same file.
 * Failure stays in the buffer's code.
 */
#ifndef CAIRN_ESCAPE_H
#define CAIRN_ESCAPE_H

#include "buf.h"

/* Control characters as \xNN; those that turn the direction of writing as \u202e. */
void cairn_escape_terminal(struct cairn_buf *out, struct cairn_span text);

/* Element text and quoted attribute values of XML and HTML. What XML forbids, as \xNN. */
void cairn_escape_xml(struct cairn_buf *out, struct cairn_span text);

/* The inside of a JSON string; not for a script element, which would end at "</script". */
void cairn_escape_json(struct cairn_buf *out, struct cairn_span text);

/* A part of a frame of a collapsed stack: `;`, control characters and line ends as \xNN. */
void cairn_escape_collapsed(struct cairn_buf *out, struct cairn_span text);

/* A quoted field of comma-separated values: quotes doubled, control characters and line ends as
 * \xNN and \u2028. What a spreadsheet would take for a formula begins with an apostrophe. */
void cairn_escape_csv(struct cairn_buf *out, struct cairn_span text);

/* Text inside <code> of Markdown: all punctuation as entities, so that none of it is markup;
 * control characters as a terminal shows them. */
void cairn_escape_markdown(struct cairn_buf *out, struct cairn_span text);

/* Nothing but the promise of valid UTF-8, as protobuf wants it; NUL, at which protobuf-c would cut
 * a text off, as \x00. */
void cairn_escape_utf8(struct cairn_buf *out, struct cairn_span text);

struct cairn_span cairn_span_of(const char *str); /* NULL gives the empty span */

#endif

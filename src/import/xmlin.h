/* xmlin.h: XML a piece at a time, out of a feed: elements that begin and end, and the text between
 * them. Declarations, comments and attributes but one are passed over; entities are the five of XML
 * and numbers; nothing is loaded or expanded. Owner: releases what it holds; the feed is borrowed.
 * Threads: one at a time.
 */
#ifndef CAIRN_XMLIN_H
#define CAIRN_XMLIN_H

#include "buf.h"
#include "feed.h"

enum cairn_xmlin_kind { CAIRN_XMLIN_BEGIN, CAIRN_XMLIN_END };

struct cairn_xmlin {
    struct cairn_feed *feed;
    struct cairn_buf text; /* that stood in front of the element, trimmed by nobody */
    struct cairn_buf tag;
    bool ends; /* "<name/>": it has begun, and its end comes next */
    struct cairn_span name;
};

void cairn_xmlin_init(struct cairn_xmlin *xml, struct cairn_feed *feed);
void cairn_xmlin_release(struct cairn_xmlin *xml);

/* The next element's beginning or end; its name in xml->name, borrowed until the next call. 1, 0
 * behind the last, -CAIRN_EDAMAGED, -CAIRN_ELIMIT, or what reading failed with. */
int cairn_xmlin_next(struct cairn_xmlin *xml, enum cairn_xmlin_kind *ret_kind);

/* The value of an attribute of the element that has begun; false: it has none. As it is written. */
bool cairn_xmlin_attribute(const struct cairn_xmlin *xml, const char *name,
                           struct cairn_span *ret_value);

#endif

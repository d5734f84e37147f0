/** What JSX becomes here: `h(type, properties, ...children)` packs half a kilobyte smaller than the
 * calls of preact/jsx-runtime. tools/bundle.py puts it in front of every file. */
export { Fragment, h } from "preact";

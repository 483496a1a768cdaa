// Package pin remembers what servers offer: which definition of each tool, prompt,
// resource template and of the instructions was seen first, which ones somebody
// accepted or rejected, and which are held until somebody looks at the difference:
// what changed, and what was added after somebody looked at the server. It is what
// stops a server from rewriting its surface unseen.
//
// What is compared is the canonical form of a whole definition: its name,
// description, schemas, annotations, `_meta`, icons and whatever else stands in it.
// Plain resources come and go too often to be pinned, and so do their contents.
//
// A pin belongs to the name of a server, not to its command or URL: one that is
// configured anew under the same name is compared with what that name offered.
//
// [Book.Observe] takes what a server lists, [Book.Pin] answers from memory without
// a lock, and [Differences] says in words what changed, with package reveal for what a
// terminal would hide.
package pin

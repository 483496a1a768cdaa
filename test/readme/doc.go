// Package readme runs what the documents tell people to type. The README and
// the how-tos are read as a person would: one block after the other, in a fresh
// home directory, against the binary of this checkout.
//
// A fenced block whose language is sh says what is done with it:
//
//	```sh                   it is run and must succeed
//	```sh exit 2            it is run and must end with that status
//	```sh background        it is started and must say that it serves; the next
//	                        such block, or the end of the document, interrupts it
//	```sh no-run: REASON    it is not run; the reason is for the reader of the test's log
//	```text output          what the block before it must have printed
//
// In output, … within a line stands for any characters and a line of nothing
// else for any lines. Other spellings of sh are refused, so that no command
// escapes by being called bash or console.
//
// What it is not: it judges no prose. Start at [Parse].
package readme

// Package pipe carries the link of the core and one connection to a server
// ([exchange.Link], [exchange.Sink]) over a byte stream, so that the connection
// can live in another process.
//
// The core calls [Dial] on its end of a socket pair and gets a Link; the other
// process calls [Serve] on its end with the function that opens the real Link.
// Neither end trusts the other's bytes: frames are bounded, and one that cannot
// be read ends the link. The core's end keeps its own account of the calls under
// way, so that each of them is answered even when the other process is gone.
//
// A frame is a length of four bytes, big-endian, and one MessagePack array: the
// kind of message, then its fields in the order of their declaration. Nothing is
// left out or added; both ends are of one build.
//
// What it is not: it starts no process, and no bytes of the protocol between a
// gateway and a server are read here. Parameters travel raw and are scanned anew
// at the far end.
package pipe

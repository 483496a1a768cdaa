// Package wire reads and rewrites JSON-RPC 2.0 messages of the Model Context
// Protocol without decoding what they carry.
//
// [Parse] scans a message once, checks all of it, and notes where the members
// lie that a gateway needs: id, method, the routing key in params, the protocol
// keys in `_meta`, the result's type. Ids, params, results and errors stay the
// raw bytes that were received; [Splice] and [AppendParams] change exactly what
// was asked and nothing else, so unknown members, big numbers and key order survive.
//
// It is strict where a loose reader could be walked past: the same member name
// twice, at any depth of a request, is refused, and so are names in the
// envelope, in params, in `_meta` and in `ref` that differ from another one, or
// from a name of the protocol, in case only. Servers' results are passed through
// with such faults, which are counted.
//
// [HeaderParams], [HeaderValues] and [CheckHeaders] are the rules by which
// arguments are mirrored in HTTP headers; [CleanLine], [CheckSize] and
// [ToValidUTF8] are for those who read messages from a pipe or a connection.
//
// It is not a JSON library: nothing here builds Go values from JSON. Start at
// [Parse] and [Message].
package wire

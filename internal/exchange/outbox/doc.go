// Package outbox is the bounded queue of messages to one client, between
// whoever produces them, who must never wait for a slow reader, and whoever
// writes them to a connection, which may come and go.
//
// A [Box] takes messages with [Box.Put] and ends with [Box.Finish]; a [Reader]
// takes them out. Progress is dropped first when a reader falls behind, and when
// that is not enough the readers are told that they lost messages. A box can
// keep what was read for a while, so that a client that lost its connection can
// ask for what came after the last message it saw (2025-11-25, transports
// "Resumability and Redelivery").
//
// It knows nothing of JSON, HTTP or lines. Start at [New].
package outbox

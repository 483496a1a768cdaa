// Package hold keeps calls to legacy servers that wait for the input of a modern
// client. A legacy server asks in the middle of a call; a modern client is asked
// by the answer to its request (input_required) and brings the input with a
// retry, which is a request of its own. Between the two the call stays open here.
package hold

// Package unprivileged lets tests that run as root see what a user sees: without it
// files that may not be read or written are read and written all the same. It works
// on Linux, where privileges can be given up one by one, and by one thread alone.
package unprivileged

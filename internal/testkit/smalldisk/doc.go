// Package smalldisk lets tests fill a disk without harm to anybody: it is of their
// own, and in memory. It works on Linux, for root, or whoever is root of a namespace
// of users and of mounts (unshare -rm).
package smalldisk

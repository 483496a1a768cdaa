//go:build !linux

package launch

// MaybeInit must be the first statement of main in every program that launches
// servers, and of TestMain in their tests. It does nothing on this system.
func MaybeInit() {}

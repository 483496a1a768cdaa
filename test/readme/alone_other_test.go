//go:build unix && !linux

package readme_test

func alone() bool           { return false }
func runAlone() (int, bool) { return 0, false }

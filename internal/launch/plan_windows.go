package launch

import "os/exec"

// executable applies PATHEXT.
func executable(path string) (string, error) { return exec.LookPath(path) }

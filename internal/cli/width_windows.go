package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns is how wide a console is, in characters; 0 if it does not say.
func columns(terminal *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(terminal.Fd()), &info); err != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}

package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// hideTyping makes a console not show what is typed, until show is called.
func hideTyping(terminal *os.File) (show func() error, err error) {
	console := windows.Handle(terminal.Fd())
	var was uint32
	if err := windows.GetConsoleMode(console, &was); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(console, was&^windows.ENABLE_ECHO_INPUT); err != nil {
		return nil, err
	}
	return func() error { return windows.SetConsoleMode(console, was) }, nil
}

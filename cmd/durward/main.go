// Command durward is the service and its command line in one binary.
package main

import (
	"os"

	"durward/internal/cli"
	"durward/internal/launch"
)

func main() {
	launch.MaybeInit() // never returns in the process that looks after a server's children
	os.Exit(cli.Main(os.Args[1:], cli.Std()))
}

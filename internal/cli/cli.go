// Package cli is the command line: one file a command, each a constructor and a
// plain run function. It talks to the service through package client only;
// serve.go alone starts one, and commands that need no service (config validate)
// use the stage they serve.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// Streams are the three standard streams.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Std returns the process's own streams.
func Std() Streams { return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// Main runs the command line and returns the exit status: see [exitStatus].
func Main(args []string, std Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(std)
	root.SetArgs(args)
	began := false // whether a command ran at all: what fails before is wrong usage
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !began {
		err = usage(err)
	}
	report(std.Err, err)
	return exitStatus(err)
}

func newRoot(std Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "durward",
		Short:         "The guard between AI agents and the tools they reach over MCP",
		Long:          "Durward federates many MCP servers behind one endpoint.\n" + serviceHelp + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          needsSubcommand,
	}
	root.SetFlagErrorFunc(refuseTokens)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.AddCommand(
		newServe(std), newStdio(std), newStatus(std), newEvents(std), newServer(std), newTools(std), newCall(std), newCalls(std), newShow(std), newTimeline(std), newStats(std), newLedger(std), newPrompts(std), newResources(std),
		newApprovals(std), newApprove(std), newDeny(std), newGrants(std), newLabels(std), newPins(std),
		newRule(std), newTool(std), newPolicy(std), newInit(std),
		newConfig(std), newKeys(std), newImport(std), newInstall(std), newUninstall(std), newDoctor(std), newService(std), newVersion(std), newHelpMan(std),
	)
	return root
}

// needsSubcommand is what a command does that only groups others.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
	}
	return cmd.Help()
}

// Version returns the version of this build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"durward/test/harness"
)

const (
	driveCommand = "drive"
	// driveLimit is below the time that the suite gives a client (30 s): the
	// suite would end the shell only and leave a gateway behind.
	driveLimit = 25 * time.Second
)

// drive is this program in its other role: the "client" that a suite examines.
// It puts a gateway in front of the suite's server, which is the last argument,
// and lets a client use that server through the gateway. The suite's messages to
// its client are in the environment, which the client inherits.
func drive(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet(driveCommand, flag.ContinueOnError)
	gateway := flags.String("gateway", "", "gateway binary")
	client := flags.String("client", "", "client binary, called with the URL to connect to")
	dir := flags.String("dir", "", "folder for the gateway's state and log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("want one URL, got %q", flags.Args())
	}
	ctx, cancel := context.WithTimeout(ctx, driveLimit)
	defer cancel()
	config := harness.NewConfig(map[string]harness.Server{"fixture": {URL: flags.Arg(0)}})
	g, err := harness.StartGateway(ctx, *gateway, *dir, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	cmd := exec.CommandContext(ctx, *client, "http://"+g.Addr+"/servers/fixture/mcp")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	return nil
}

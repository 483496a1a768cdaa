package cli

import (
	"context"

	"github.com/spf13/cobra"
)

type serverShowOptions struct{ json bool }

func newServerShow(std Streams) *cobra.Command {
	var opt serverShowOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a server: its state, its settings and its tools",
		Long: "Show a server: its state, its settings and its tools, each with its risk and with what the rules say of a call.\n" +
			"Of settings that may hold a secret only references are shown.\n" + exitHelp,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: serverNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return runServerShow(cmd.Context(), args[0], opt, std) },
	}
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runServerShow(ctx context.Context, name string, opt serverShowOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	s, err := service.Server(ctx, name)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, s)
	}
	tools := s.Tools
	s.Tools = nil
	if err := printServer(std, s); err != nil {
		return err
	}
	if err := printSettings(std.Out, name, s.Settings); err != nil {
		return err
	}
	return printTools(ctx, service, std.Out, tools)
}

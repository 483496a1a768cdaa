package cli

import (
	"context"

	"github.com/spf13/cobra"

	"durward/client"
)

func newResources(std Streams) *cobra.Command {
	var opt listOptions
	cmd := &cobra.Command{
		Use:               "resources [URI]",
		Short:             "List the resources and resource templates that are offered, or show one",
		Long:              "List the resources and resource templates that are offered, or show what is listed of one.\n" + exitHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: itemNames((*client.Client).Resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runList(cmd.Context(), "resource", (*client.Client).Resources, args, opt, std)
		},
	}
	opt.flags(cmd)
	cmd.AddCommand(newResourcesRead(std))
	return cmd
}

func newResourcesRead(std Streams) *cobra.Command {
	var opt getOptions
	cmd := &cobra.Command{
		Use:               "read URI",
		Short:             "Read a resource",
		Long:              "Read a resource: by the URI under which it is offered, or by the server's own if only one server lists it.\n" + exitHelp,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: itemNames((*client.Client).Resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runResourcesRead(cmd.Context(), args[0], opt, std)
		},
	}
	opt.flags(cmd)
	return cmd
}

func runResourcesRead(ctx context.Context, uri string, opt getOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	result, err := service.ReadResource(ctx, uri)
	if err != nil {
		return withHint(err, "durward resources lists what can be read")
	}
	return show(std, result, opt)
}

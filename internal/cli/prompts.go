package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"durward/client"
)

func newPrompts(std Streams) *cobra.Command {
	var opt listOptions
	cmd := &cobra.Command{
		Use:               "prompts [PROMPT]",
		Short:             "List the prompts that are offered, or show one with its arguments",
		Long:              "List the prompts that are offered, or show one with its arguments.\n" + exitHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: itemNames((*client.Client).Prompts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runList(cmd.Context(), "prompt", (*client.Client).Prompts, args, opt, std)
		},
	}
	opt.flags(cmd)
	cmd.AddCommand(newPromptsGet(std))
	return cmd
}

type getOptions struct {
	json  bool
	files string
}

func newPromptsGet(std Streams) *cobra.Command {
	var opt getOptions
	cmd := &cobra.Command{
		Use:               "get PROMPT [KEY=VALUE…]",
		Short:             "Get a prompt with its arguments filled in",
		Long:              "Get a prompt with its arguments filled in, and print its messages.\n" + exitHelp,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: itemNames((*client.Client).Prompts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPromptsGet(cmd.Context(), args[0], args[1:], opt, std)
		},
	}
	opt.flags(cmd)
	return cmd
}

func (o *getOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.files, "files", "", "directory for images, sounds and other binary content (default: that for temporary files)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as one JSON document")
}

func runPromptsGet(ctx context.Context, name string, args []string, opt getOptions, std Streams) error {
	arguments := map[string]string{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return usage(fmt.Errorf("%q is not KEY=VALUE", cut(arg, 40)))
		}
		arguments[key] = value
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	if _, err := named(ctx, service, (*client.Client).Prompts, "prompt", name, client.Filter{}); err != nil {
		return err
	}
	result, err := service.GetPrompt(ctx, client.CallRequest{Name: name, Arguments: raw})
	if err != nil {
		return withHint(err, "durward prompts %s shows its arguments", name)
	}
	return show(std, result, opt)
}

// show prints what was got.
func show(std Streams, r *client.Result, opt getOptions) error {
	if opt.json {
		return printJSON(std.Out, r.Result)
	}
	return printResult(std, r.Result, opt.files)
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/reveal"
)

type listOptions struct {
	filter client.Filter
	json   bool
}

func (o *listOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.filter.Server, "server", "", "only what this server offers")
	cmd.Flags().StringVar(&o.filter.Toolset, "toolset", "", "only what this toolset offers")
	cmd.MarkFlagsMutuallyExclusive("server", "toolset")
	_ = cmd.RegisterFlagCompletionFunc("server", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return serverNames(cmd, nil, word)
	}) // the flag was declared above
	jsonFlag(cmd, &o.json)
}

func newTools(std Streams) *cobra.Command {
	var opt listOptions
	cmd := &cobra.Command{
		Use:   "tools [TOOL]",
		Short: "List the tools that are offered, or show one with its schema",
		Long: "List the tools that are offered, or show one with its schema. The service is started in the background if none runs,\n" +
			"and servers that are starting are waited for.\n" + exitHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: itemNames((*client.Client).Tools),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runList(cmd.Context(), "tool", (*client.Client).Tools, args, opt, std)
		},
	}
	opt.flags(cmd)
	return cmd
}

// runList lists items, or shows the one that is named.
func runList(ctx context.Context, what string, list lister, args []string, opt listOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		it, err := named(ctx, service, list, what, args[0], opt.filter)
		if err != nil {
			return err
		}
		return printItem(std, it, opt.json)
	}
	items, err := list(service, ctx, opt.filter)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, client.ItemList{Items: items})
	}
	if len(items) == 0 {
		note(std, "nothing is offered; durward status says which servers are missing")
	}
	return printItems(std.Out, items)
}

// lister lists what the service offers of one kind.
type lister func(*client.Client, context.Context, client.Filter) ([]client.Item, error)

// named returns the item of a name. Where its server is still starting when a list does
// not wait for it any longer, it alone is waited for.
func named(ctx context.Context, service *client.Client, list lister, what, name string, filter client.Filter) (*client.Item, error) {
	items, err := list(service, ctx, filter)
	if err != nil {
		return nil, err
	}
	it, missing := find(items, what, name)
	server, _, prefixed := strings.Cut(name, "__")
	if missing == nil || !prefixed || filter.Server != "" {
		return it, missing
	}
	filter.Server = server
	if items, err = list(service, ctx, filter); err != nil { // there is no such server
		return nil, missing
	}
	if it, err = find(items, what, name); err != nil {
		return nil, missing // which knows more names that are near
	}
	return it, nil
}

// find looks an item up by the name under which it is offered.
func find(items []client.Item, what, name string) (*client.Item, error) {
	for i := range items {
		if items[i].Name == name {
			return &items[i], nil
		}
	}
	err := durward.Errorf(durward.NotFound, "", "no %s is called %q", what, name)
	if near := nearest(items, name); near != "" {
		return nil, withHint(err, "did you mean %s?", near)
	}
	return nil, withHint(err, "durward %ss lists what there is; durward status says which servers are missing", what)
}

func printItem(std Streams, it *client.Item, asJSON bool) error {
	if asJSON {
		return printJSON(std.Out, it)
	}
	var said struct {
		Description string          `json:"description"`
		Input       json.RawMessage `json:"inputSchema"`
		Output      json.RawMessage `json:"outputSchema"`
		Arguments   json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(it.Raw, &said); err != nil {
		return durward.Errorf(durward.Invalid, it.Name, "the server lists it in a form that cannot be read: %w", err)
	}
	_, err := fmt.Fprintf(std.Out, "%s\n  server  %s, where it is called %s\n", paint(std.Out, bold, reveal.Text(it.Name)), it.Server, reveal.Text(it.Native))
	if err == nil && it.Risk != "" {
		_, err = fmt.Fprintf(std.Out, "  risk    %s\n", it.Risk)
	}
	if err == nil && said.Description != "" {
		_, err = fmt.Fprintf(std.Out, "\n%s\n", reveal.Text(said.Description))
	}
	for _, part := range []struct {
		title string
		raw   json.RawMessage
	}{{"input", said.Input}, {"output", said.Output}, {"arguments", said.Arguments}} {
		if err == nil && part.raw != nil {
			_, err = fmt.Fprintf(std.Out, "\n%s: %s\n", part.title, reveal.Text(indented(part.raw)))
		}
	}
	return err
}
